"""A running server held against its plan: parsing, comparing, and asking with limits."""

import contextlib
import http.server
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from hmactl.cli import main
from hmactl.launch.verify.compare import compare
from hmactl.launch.verify.found import Cache, Connector, Found, read_found
from hmactl.launch.verify.log import parse_log
from hmactl.launch.verify.metrics import Metrics
from hmactl.launch.verify.result import Comparison, State
from hmactl.launch.verify.server import NoAnswerError, Server, server_url
from hmactl.launch.verify.text import render_verification
from hmactl.launch.verify.verify import verify
from hmactl.report.model import DeploymentReport

# As vLLM 0.32.0 answers, with the labels that matter here.
METRICS = """
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",enable_prefix_caching="True",engine="0",\
kv_cache_max_concurrency="2.65625",kv_cache_size_tokens="21760",num_gpu_blocks="170"} 1.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 5.0
vllm:prefix_cache_hits_total{engine="1",model_name="a, \\"b\\" {c}"} 7.0
vllm:nothing{engine="0"} NaN-ish
"""
LOG = (
    "(EngineCore pid=1) INFO 12-02 [kv_cache_utils.py:2327] CPU KV cache size: 21,760 tokens, "
    "Maximum concurrency for 8,192 tokens per request: 2.66x\n"
    "INFO [factory.py:62] Creating v1 connector with name: LMCacheMPConnector and engine_id: 6\n"
)


def test_metrics() -> None:
    metrics = Metrics(METRICS)
    assert metrics.total("vllm:absent", "vllm:prefix_cache_hits_total") == 12
    assert metrics.total("vllm:nothing") is None
    assert metrics.samples("vllm:prefix_cache_hits_total")[1].labels["model_name"] == 'a, "b" {c}'


@pytest.mark.parametrize(
    "line",
    [
        "x{" + "a" * 1_000_000 + "} 1",
        "x{" + "} " * 500_000 + "1",
        "x{" + 'a="' * 300_000 + "} 1",
        "x" + " " * 1_000_000 + "y z w",
        "x{" + ("}" + " " * 1000) * 1000 + "y",
    ],
    ids=["name", "braces", "quotes", "spaces", "both"],
)
def test_a_hostile_line_costs_no_more_than_its_length(line: str) -> None:
    started = time.process_time()
    Metrics(line)
    assert time.process_time() - started < 5


def test_the_last_start_in_a_log_counts() -> None:
    earlier = "INFO kv cache group sizes (16, 16)\nSystem will operate in degraded mode\n"
    log = parse_log(f"{earlier}\x1b[32mINFO\x1b[0m vLLM API server version 0.32.0\n{LOG}")
    assert (log.tokens, log.concurrency, log.groups) == (21760, 2.66, None)
    assert log.connectors == ("LMCacheMPConnector",)
    assert log.line("degraded") is None
    assert parse_log(earlier).groups == 2


def _side(blocks: int, tokens: int, concurrency: float) -> dict[str, Any]:
    return {
        "num_blocks": blocks,
        "tokens": tokens,
        "max_concurrency": concurrency,
        "block_size": 128,
        "max_model_len": 8192,
        "bytes_per_request": None,
        "groups": [
            {"spec": "FullAttentionSpec", "block_size": 128, "page_size_bytes": 1, "layers": 6}
        ],
        "error": None,
    }


def _planned(*, hma_on: bool = True, estimated: bool = False) -> DeploymentReport:
    flag = "--no-disable-hybrid-kv-cache-manager" if hma_on else "--disable-hybrid-kv-cache-manager"
    engine = dict.fromkeys(("lmcache", "transformers"), None) | dict.fromkeys(
        ("torch", "python", "python_path", "vllm_path"), ""
    )
    return DeploymentReport.model_validate(
        {
            "source": "p.yaml",
            "name": "p",
            "model": "/m",
            "model_source": None,
            "engine": {
                **engine,
                "vllm": "0.32.0+cpu",
                "origin": "dry-boot",
                "gpu": "cpu",
                "stand_ins": [],
            },
            "config": None,
            "connector": None,
            "verdict": {
                "policy": "auto",
                "decision": "keep",
                "engine_default": "on",
                "flag": flag,
                "reason": "",
            },
            "plan": {
                "kv_cache_memory_bytes": 100,
                "activation_allowance_bytes": 50 if estimated else 0,
                "memory_origin": "estimated" if estimated else "given",
                "weights_bytes_per_rank": [],
                "layers": [],
                "layers_per_stage": [],
                "attention_backends": [],
                "hma_on": _side(170, 21760, 2.65625),
                "hma_off": _side(90, 11520, 1.40625),
            },
            "memory": [],
            "to_verify": [],
            "lmcache": None,
            "findings": [],
            "engine_warnings": [],
            "missing": [],
            "failure": None,
        }
    )


def _found(**changes: Any) -> Found:
    cache = Cache("0", 128, 170, 21760, 2.65625, prefix_caching=True)
    values: dict[str, Any] = {
        "version": "0.32.0",
        "models": ("m",),
        "root": "/m",
        "max_model_len": 8192,
        "caches": (cache,),
        "hma_on": True,
        "connector": Connector(None, None, None, {}),
        "log": None,
    }
    return Found(**(values | changes))


def _states(comparisons: tuple[Comparison, ...]) -> dict[str, State]:
    return {one.id: one.state for one in comparisons}


def test_as_planned() -> None:
    states = _states(compare(_planned(), _found()))
    assert states.pop("groups") is State.UNKNOWN
    assert set(states.values()) == {State.SAME}


@pytest.mark.parametrize(
    ("changes", "id_"),
    [
        ({"root": "/other"}, "model"),
        ({"version": "0.33.0"}, "version"),
        ({"max_model_len": 4096}, "max-model-len"),
        ({"caches": (Cache("0", 128, 169, 21760, 2.65625, None),)}, "blocks"),
        ({"caches": (Cache("0", 16, 170, 21760, 2.65625, None),)}, "block-size"),
        ({"caches": (Cache("0", 128, 170, 21759, 2.65625, None),)}, "tokens"),
        ({"caches": (Cache("0", 128, 170, 21760, 2.6, None),)}, "concurrency"),
        ({"hma_on": False}, "hma"),
        ({"connector": Connector("NixlConnector", None, "kv_both", {})}, "connector"),
        ({"log": parse_log("INFO kv cache group sizes (16, 16)\n")}, "groups"),
        (
            {"log": parse_log("LMCache ERROR System will operate in degraded mode")},
            "lmcache-started",
        ),
    ],
)
def test_each_difference_is_seen_alone(changes: dict[str, Any], id_: str) -> None:
    states = _states(compare(_planned(), _found(**changes)))
    assert [name for name, state in states.items() if state is State.DIFFERS] == [id_]


def test_hma_shows_in_the_blocks_where_the_server_does_not_tell() -> None:
    off = Cache("0", 128, 90, 11520, 1.40625, None)
    assert _states(compare(_planned(), _found(hma_on=None)))["hma"] is State.SAME
    assert _states(compare(_planned(), _found(hma_on=None, caches=(off,))))["hma"] is State.DIFFERS
    other = Cache("0", 128, 100, 12800, 1.5, None)
    assert (
        _states(compare(_planned(), _found(hma_on=None, caches=(other,))))["hma"] is State.UNKNOWN
    )


def test_each_of_several_engines_is_named() -> None:
    other = Cache("1", 128, 169, 21632, 2.64, None)
    good = Cache("0", 128, 170, 21760, 2.65625, None)
    wrong = [
        one.what
        for one in compare(_planned(), _found(caches=(good, other)))
        if one.state is State.DIFFERS
    ]
    assert wrong == ["blocks, engine 1", "KV cache tokens, engine 1", "max concurrency, engine 1"]


@pytest.mark.parametrize(
    ("blocks", "state"), [(170, "same"), (85, "same"), (84, "differs"), (171, "differs")]
)
def test_an_estimate_is_a_range(blocks: int, state: str) -> None:
    cache = Cache("0", 128, blocks, None, None, None)
    (found,) = [
        c for c in compare(_planned(estimated=True), _found(caches=(cache,))) if c.id == "blocks"
    ]
    assert found.state == state
    assert found.planned == "85 to 170"


def test_tokens_of_old_releases_are_in_the_log_only() -> None:
    caches = (Cache("0", 128, 170, None, None, None),)
    without = compare(_planned(), _found(caches=caches))
    assert _states(without)["tokens"] is State.UNKNOWN
    why = {
        version: [c.meaning for c in compare(_planned(), found) if c.id == "tokens"]
        for version in ("0.23.0", "0.24.0", None)
        for found in [_found(caches=caches, version=version)]
    }
    newer = ["vllm:cache_config_info has it from vLLM 0.24.0 on; give its log with --log"]
    assert why == {
        "0.23.0": newer,
        "0.24.0": ["vllm:cache_config_info does not say"],
        None: ["vllm:cache_config_info does not say"],
    }
    assert (
        _states(compare(_planned(), _found(caches=caches, log=parse_log(LOG))))["tokens"]
        is State.SAME
    )


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://h:8000/v1/", "http://h:8000"),
        ("https://h/p?x=1#y", "https://h/p"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("ftp://h", None),
        ("http://user:secret@h", None),
        ("http://h:port", None),
        ("http://", None),
    ],
)
def test_addresses(text: str, url: str | None) -> None:
    if url is not None:
        assert server_url(text) == url
        return
    with pytest.raises(ValueError, match=r"address|[Pp]ort") as error:
        server_url(text)
    assert "secret" not in str(error.value)


Answer = tuple[int, bytes]


class Serve(Protocol):
    def __call__(
        self, answers: dict[str, Answer], certificate: Path | None = None
    ) -> tuple[str, list[tuple[str, str | None]]]: ...


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server with canned answers; it notes path and Authorization of each request."""
    started: list[http.server.ThreadingHTTPServer] = []

    def start(
        answers: dict[str, Answer], certificate: Path | None = None
    ) -> tuple[str, list[tuple[str, str | None]]]:
        asked: list[tuple[str, str | None]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Authorization")))
                status, body = answers.get(self.path.split("?")[0], (404, b"{}"))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", body.decode())
                    body = b""
                self.end_headers()
                try:
                    if body == b"drip":
                        for _ in range(100):
                            self.wfile.write(b"x")
                            self.wfile.flush()
                            time.sleep(0.05)
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_arguments: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda *_arguments: None  # type: ignore[method-assign]
        started.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        scheme = "http" if certificate is None else "https"
        return f"{scheme}://127.0.0.1:{server.server_port}", asked

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


MODELS = json.dumps({"data": [{"id": "m", "root": "/m", "max_model_len": 8192}]}).encode()
VLLM: dict[str, Answer] = {
    "/health": (200, b""),
    "/v1/models": (200, MODELS),
    "/metrics": (200, METRICS.encode()),
}


def test_what_it_does_not_tell_is_unknown(serve: Serve) -> None:
    url, asked = serve(VLLM)
    found = read_found(Server(url, "key"), None)
    assert (found.hma_on, found.connector, found.version) == (None, None, None)
    assert found.caches == (Cache("0", 128, 170, 21760, 2.65625, prefix_caching=True),)
    assert {authorization for _path, authorization in asked} == {"Bearer key"}


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        ("/metrics", (200, b"go_gc 1\n"), "no vLLM server"),
        ("/v1/models", (200, b"[1]"), "does not answer as vLLM does"),
        ("/v1/models", (200, b"<html>"), "not JSON"),
        ("/v1/models", (401, b'{"error": {"message": "Unauthorized"}}'), "401: Unauthorized"),
        ("/metrics", (200, b"x" * (17 << 20)), "more than 16 MiB"),
        ("/metrics", (200, b"drip"), "did not answer within 0.5 s"),
    ],
)
def test_a_server_that_cannot_be_asked(serve: Serve, path: str, answer: Answer, words: str) -> None:
    url, _asked = serve(VLLM | {path: answer})
    verification = verify(Server(url, timeout=0.5), None, None, wait=0)
    assert verification.failure is not None
    assert words in verification.failure
    assert verification.status == 2


@contextlib.contextmanager
def _raw(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that speaks no proper HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_one() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    answer(connection)

        threading.Thread(target=serve_one, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def _dripping(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(200):
        connection.sendall(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("scheme", "answer", "words"),
    [
        ("http", _dripping, "did not answer within 0.5 s"),
        ("http", lambda c: c.sendall(b"SSH-2.0-OpenSSH_9\r\n"), "cannot be reached"),
        ("https", lambda c: c.sendall(b"HTTP/1.1 400 Bad\r\n\r\n"), "TLS fails"),
    ],
)
def test_what_is_no_web_server(
    scheme: str, answer: Callable[[socket.socket], None], words: str
) -> None:
    with _raw(answer) as address:
        started = time.monotonic()
        verification = verify(Server(f"{scheme}://{address}", timeout=0.5), None, None, wait=0)
        assert verification.status == 2
        assert words in str(verification.failure)
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("key", ["two\nlines", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_a_key_that_no_header_can_have_is_not_quoted(key: str) -> None:
    with pytest.raises(ValueError, match="one line of ASCII") as error:
        Server("http://h", key)
    assert key not in str(error.value)
    assert key not in repr(Server("http://h", "key"))


def test_a_key_that_the_server_says_again_is_hidden(serve: Serve) -> None:
    url, _ = serve(VLLM | {"/v1/models": (401, b'{"error": "no such key: s3cret"}')})
    failure = verify(Server(url, "s3cret"), None, None, wait=0).failure
    assert failure == "/v1/models answered 401: no such key: ***"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that nobody signed, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(path.with_name("key.pem")), "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    with path.open("a") as file:
        file.write(path.with_name("key.pem").read_text())
    return path


def test_tls_with_a_certificate_of_ones_own(serve: Serve, certificate: Path) -> None:
    url, _ = serve(VLLM, certificate)
    failure = str(verify(Server(url), None, None, wait=0).failure)
    assert "certificate is not trusted" in failure
    assert "--ca-file" in failure
    assert verify(Server(url, ca_file=certificate), None, None, wait=0).status == 0
    with pytest.raises(ValueError, match="no certificates"):
        Server(url, ca_file=Path(__file__))


def test_what_a_server_says_moves_no_cursor(serve: Serve) -> None:
    model = {"id": "m", "root": "/m\x1b]0;title\x07\x1b[2Jx", "max_model_len": 8192}
    url, _ = serve(VLLM | {"/v1/models": (200, json.dumps({"data": [model]}).encode())})
    text = render_verification(verify(Server(url), None, None, wait=0))
    assert "/m" in text
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.parametrize(
    "info",
    [
        b'{"vllm_config": {"scheduler_config": "text", "kv_transfer_config": []}}',
        b'{"vllm_config": []}',
        b"[]",
    ],
)
def test_a_configuration_of_another_form_is_unknown(serve: Serve, info: bytes) -> None:
    url, _ = serve(VLLM | {"/server_info": (200, info)})
    assert read_found(Server(url), None).hma_on is None


def test_adapters_are_no_models_of_the_plan(serve: Serve) -> None:
    data = [{"id": "lora", "root": "/l", "parent": "m"}, {"id": "m", "root": "/m", "parent": None}]
    url, _ = serve(VLLM | {"/v1/models": (200, json.dumps({"data": data}).encode())})
    found = read_found(Server(url), None)
    assert (found.models, found.root) == (("m",), "/m")


def test_a_redirect_takes_no_key_along(serve: Serve) -> None:
    other, asked = serve(VLLM)
    url, _ = serve(VLLM | {"/metrics": (302, f"{other}/metrics".encode())})
    with pytest.raises(NoAnswerError, match="302"):
        read_found(Server(url, "key"), None)
    assert asked == []


def test_it_waits_for_a_server_that_starts_and_no_longer(serve: Serve) -> None:
    answers = VLLM | {"/health": (503, b"")}
    url, asked = serve(answers)
    assert verify(Server(url), None, None, wait=0).status == 2
    assert len(asked) == 1
    threading.Timer(1.5, lambda: answers.update(VLLM)).start()
    assert verify(Server(url), None, None, wait=20).status == 0


def test_nobody_there_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", "http://127.0.0.1:9", "--once"])
    assert ended.value.code == 2
    assert "127.0.0.1:9 cannot be reached: Connection refused" in capsys.readouterr().out


def test_a_gate_loads_nothing_that_is_slow(serve: Serve, tmp_path: Path) -> None:
    url, _ = serve(VLLM)
    plan = tmp_path / "report.json"
    summary = dict.fromkeys(("errors", "warnings", "infos", "suppressed"), 0)
    report = {"deployments": [_planned().model_dump(by_alias=True, mode="json")]}
    plan.write_text(json.dumps(report | {"schema": "hmactl-report/1", "summary": summary}))
    code = (
        "import sys\n"
        "from hmactl.cli import main\n"
        "try:\n"
        f"    main(['verify', {url!r}, '--once', '--plan', {str(plan)!r}])\n"
        "except SystemExit as ended:\n"
        "    print(ended.code, sorted({'rich', 'torch', 'vllm'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "0 []", done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://h", "--url", "http://g"],
        ["p.yaml", "--plan", __file__],
        ["http://u:p@h"],
        ["https://h", "--ca-file", __file__],
        ["http://h", "--api-key", "two\nlines"],
        ["http://h", "--watch", "--format", "json"],
        ["http://h", "--plan", __file__],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", *arguments])
    assert ended.value.code == 2
