"""What is shown of a server between two looks at its metrics."""

import http.server
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hmactl.launch.verify.metrics import Metrics
from hmactl.launch.verify.watch import Silence, change, look
from hmactl.launch.verify.watch_text import watch_line, watch_rows

# As vLLM 0.32.0 and, without the sources, 0.15.1 count.
_COUNTED = """
vllm:cache_config_info{{block_size="16",engine="0",num_gpu_blocks="100"}} 1.0
vllm:kv_cache_usage_perc{{engine="0"}} 0.25
vllm:kv_cache_usage_perc{{engine="1"}} 0.5
vllm:num_requests_running{{engine="0"}} 2.0
vllm:num_requests_running{{engine="1"}} 1.0
vllm:num_requests_waiting{{engine="0"}} 0.0
vllm:num_preemptions_total{{engine="0"}} {preemptions}
vllm:prompt_tokens_total{{engine="0"}} {prompt}
vllm:prefix_cache_queries_total{{engine="0"}} {prompt}
vllm:prefix_cache_hits_total{{engine="0"}} {local}
vllm:external_prefix_cache_queries_total{{engine="0"}} {external_queries}
vllm:external_prefix_cache_hits_total{{engine="0"}} {external}
"""
_SOURCES = """
vllm:prompt_tokens_by_source_total{{engine="0",source="external_kv_transfer"}} {external}
vllm:prompt_tokens_by_source_total{{engine="0",source="local_cache_hit"}} {local}
vllm:prompt_tokens_by_source_total{{engine="0",source="local_compute"}} {computed}
"""
_BEFORE = {"preemptions": 1, "prompt": 1000, "local": 100, "external_queries": 900}
_BEFORE |= {"external": 300, "computed": 600}
_AFTER = {"preemptions": 3, "prompt": 2000, "local": 300, "external_queries": 1700}
_AFTER |= {"external": 700, "computed": 1000}


def _metrics(values: dict[str, int], *, sources: bool = True) -> Metrics:
    return Metrics((_COUNTED + (_SOURCES if sources else "")).format_map(values))


@pytest.mark.parametrize("sources", [True, False], ids=["0.32.0", "0.15.1"])
def test_rates_are_of_the_time_between(sources: bool) -> None:
    before, after = (_metrics(values, sources=sources) for values in (_BEFORE, _AFTER))
    rows = dict(watch_rows(change(look(before, 10.0), look(after, 14.0))))
    assert rows == {
        "KV cache": "50%",
        "running": "3",
        "waiting": "0",
        "external hits": "50%",
        "GPU hits": "20%",
        "preemptions": "2",
        "from outside": "100/s",
        "from the GPU's cache": "50/s",
        "computed": "100/s",
        "generated": "-",
    }


def test_a_restart_counts_from_nothing() -> None:
    seen = change(look(_metrics(_AFTER), 0.0), look(_metrics(_BEFORE), 10.0))
    assert seen.restarted
    assert seen.preemptions == 1
    assert seen.per_second["external_kv_transfer"] == 30
    assert watch_line(seen).startswith("the server was started again; since then: KV cache 50%")
    assert not change(look(_metrics(_BEFORE), 0.0), look(_metrics(_AFTER), 10.0)).restarted


def test_nobody_asked_for_anything() -> None:
    same = look(_metrics(_BEFORE), 0.0)
    rows = dict(watch_rows(change(same, replace(same, at=1.0))))
    assert (rows["external hits"], rows["GPU hits"], rows["preemptions"]) == ("-", "-", "0")


def test_what_is_not_counted_is_a_dash() -> None:
    nothing = look(Metrics(""), 0.0)
    assert {value for _name, value in watch_rows(change(nothing, replace(nothing, at=1.0)))} == {
        "-"
    }
    assert watch_line(Silence("connection refused")) == "no answer: connection refused"


class _Counting(http.server.ThreadingHTTPServer):
    """A vLLM whose counters can be set."""

    allow_reuse_address = True

    def __init__(self, port: int = 0) -> None:
        self.values = dict(_BEFORE)
        super().__init__(("127.0.0.1", port), _Answers)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(http.server.BaseHTTPRequestHandler):
    server: _Counting

    def do_GET(self) -> None:
        body = b'{"data": [{"id": "m"}]}'
        if self.path == "/metrics":
            body = (_COUNTED + _SOURCES).format_map(self.server.values).encode()
        self.send_response(404 if self.path.startswith(("/version", "/server")) else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def counting() -> Iterator[_Counting]:
    with _Counting() as server:
        yield server
        server.shutdown()


def _watch(url: str, output: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "hmactl", "verify", url, "--watch", "--interval", "0.2"],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background of a shell ignores it, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def test_lines_through_a_restart_until_it_is_interrupted(counting: _Counting) -> None:
    process = _watch(counting.url)
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        assert next(line for line in lines if "external hits -" in line)
        counting.shutdown()
        counting.server_close()
        assert next(line for line in lines if "no answer: " in line)
        with _Counting(counting.server_port) as again:
            again.values = dict.fromkeys(_BEFORE, 5)
            assert next(line for line in lines if "started again" in line)
            again.shutdown()
    finally:
        process.send_signal(signal.SIGINT)
        _rest, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "")


def test_a_view_on_a_terminal(counting: _Counting) -> None:
    ours, theirs = pty.openpty()
    process = _watch(counting.url, theirs)
    os.close(theirs)
    seen = b""
    try:
        deadline = time.monotonic() + 20
        while b"from outside" not in seen and time.monotonic() < deadline:
            seen += os.read(ours, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        threading.Thread(target=_drain, args=(ours,), daemon=True).start()
        _out, said = process.communicate(timeout=20)
    assert b"preemptions" in seen
    assert (process.returncode, said) == (0, "")


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        os.close(terminal)
