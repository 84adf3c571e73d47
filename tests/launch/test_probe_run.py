"""What a probe makes of servers that behave in a certain way; real ones are in tests/serve."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hmactl.launch.verify.found import read_found
from hmactl.launch.verify.probe import Bounds, Probe
from hmactl.launch.verify.probe_size import CannotProbeError
from hmactl.launch.verify.result import Comparison, State
from hmactl.launch.verify.server import NoAnswerError, Server

_CHUNK = 256


@dataclass
class _Behaviour:
    """``stores``: what was prompted once comes back from outside the GPU; ``alone``: only of a
    prompt that no other one is sent beside. ``wrong``: what comes back is of another prompt."""

    stores: bool = True
    alone: bool = False
    wrong: bool = False
    engines: tuple[str, ...] = ("0",)
    running: int = 0
    others: int = 0
    dies: bool = False
    resets: bool = True
    ranks: set[str | None] = field(default_factory=set)
    prompts: list[tuple[int, ...]] = field(default_factory=list)
    on_gpu: set[tuple[int, ...]] = field(default_factory=set)
    external: int = 0
    local: int = 0
    together: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def metrics(self) -> str:
        lines = [
            f'vllm:cache_config_info{{engine="{name}",block_size="16",num_gpu_blocks="512"}} 1.0'
            for name in self.engines
        ]
        tokens = sum(map(len, self.prompts)) + self.others
        values = {
            "prompt_tokens_total": tokens,
            "prefix_cache_hits_total": self.local,
            "external_prefix_cache_hits_total": self.external,
            "num_requests_running": self.running,
        }
        lines += [f'vllm:{name}{{engine="0"}} {value}' for name, value in values.items()]
        return "\n".join(lines)

    def answer(self, prompt: tuple[int, ...], beside: bool) -> float:
        """Take a prompt; returns the log-probability of its answer."""
        with self.lock:
            again = prompt in self.prompts
            self.prompts.append(prompt)
            found = again and prompt not in self.on_gpu and self.stores
            if found and not (self.alone and beside):
                self.external += len(prompt) // _CHUNK * _CHUNK
            self.on_gpu.add(prompt)
        return -3.0 if again and self.wrong else -1.0


class _Answers(http.server.BaseHTTPRequestHandler):
    server: "_Scripted"

    def do_GET(self) -> None:
        behaviour = self.server.behaviour
        model = {"id": "m", "root": "/m", "max_model_len": 8192}
        if self.path == "/metrics":
            self._say(behaviour.metrics().encode())
        elif self.path == "/v1/models":
            self._say(json.dumps({"data": [model]}).encode())
        else:
            self._say(b"{}", 404)

    def do_POST(self) -> None:
        behaviour = self.server.behaviour
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/reset_prefix_cache":
            behaviour.on_gpu.clear()
            self._say(b'{"success": true}', 200 if behaviour.resets else 404)
        elif self.path == "/tokenize":
            self._say(json.dumps({"tokens": list(range(40))}).encode())
        elif behaviour.dies:
            self._say(b'{"error": {"message": "EngineCore encountered an issue"}}', 500)
        else:
            behaviour.ranks.add(self.headers.get("X-data-parallel-rank"))
            with behaviour.lock:
                behaviour.together += 1
            # Long enough for what is sent at the same time to arrive.
            time.sleep(0.1)
            logprob = behaviour.answer(tuple(body["prompt"]), behaviour.together > 1)
            with behaviour.lock:
                behaviour.together -= 1
            logprobs = {"tokens": ["a"], "token_logprobs": [logprob], "top_logprobs": [{}]}
            event = json.dumps({"choices": [{"logprobs": logprobs}]})
            self._say(f"data: {event}\n\ndata: [DONE]\n\n".encode())

    def _say(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


class _Scripted(http.server.ThreadingHTTPServer):
    behaviour: _Behaviour


@pytest.fixture
def scripted() -> Iterator[_Scripted]:
    with _Scripted(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def _probe(
    scripted: _Scripted, behaviour: _Behaviour, tokens: int = 500_000, **options: Any
) -> dict[str, Comparison]:
    scripted.behaviour = behaviour
    server = Server(f"http://127.0.0.1:{scripted.server_port}")
    probe = Probe(server, read_found(server, None), _CHUNK, Bounds(tokens, 60), **options)
    return {one.id: one for one in probe.run()}


def _wrong(found: dict[str, Comparison]) -> set[str]:
    return {id_ for id_, one in found.items() if one.state is State.DIFFERS}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to settle here."""
    monkeypatch.setattr("hmactl.launch.verify.probe._SETTLE", 0.0)


@pytest.mark.parametrize(
    ("behaviour", "wrong"),
    [
        (_Behaviour(), set()),
        (_Behaviour(resets=False), set()),
        (_Behaviour(stores=False), {"external-hits"}),
        (_Behaviour(alone=True), {"external-hits-at-once"}),
        (_Behaviour(wrong=True), {"same-answer", "same-answer-at-once"}),
    ],
    ids=["good", "without-reset", "stores-nothing", "fails-under-load", "wrong-data"],
)
def test_what_is_wrong_is_named(
    scripted: _Scripted, behaviour: _Behaviour, wrong: set[str]
) -> None:
    # Without a reset a real cache evicts: here everything that is pushed in goes at once.
    if not behaviour.resets:
        behaviour.on_gpu = type("Nothing", (set,), {"add": lambda *_: None})()
    found = _probe(scripted, behaviour)
    assert _wrong(found) == wrong
    assert found["answers"].state is State.SAME
    assert found["external-hits"].planned == "4,096 tokens, 16 chunks"
    if behaviour.stores:
        assert found["external-hits-at-once"].planned == "3,072 tokens, 12 chunks"


def test_all_requests_go_to_one_of_several_engines(scripted: _Scripted) -> None:
    behaviour = _Behaviour(engines=("0", "1"))
    assert _probe(scripted, behaviour)["probed-engine"].found == "engine 0 of 2"
    assert behaviour.ranks == {"0"}
    alone = _Behaviour()
    assert "probed-engine" not in _probe(scripted, alone)
    assert alone.ranks == {None}


def test_a_busy_server_is_left_alone(scripted: _Scripted) -> None:
    behaviour = _Behaviour(running=3)
    with pytest.raises(CannotProbeError, match="3 requests are running"):
        _probe(scripted, behaviour)
    assert behaviour.prompts == []


def test_hits_of_others_are_not_taken_for_its_own(scripted: _Scripted) -> None:
    class Shared(_Behaviour):
        def answer(self, prompt: tuple[int, ...], beside: bool) -> float:
            self.others += 100
            return super().answer(prompt, beside)

    with pytest.raises(CannotProbeError, match="others use the server"):
        _probe(scripted, Shared())


def test_a_server_that_dies_of_it_differs(scripted: _Scripted) -> None:
    found = _probe(scripted, _Behaviour(dies=True), no_hits="there is no connector", planned=True)
    assert _wrong(found) == {"answers"}
    assert "EngineCore encountered an issue" in str(found["answers"].found)


def test_without_a_connector_a_long_prompt_is_all(scripted: _Scripted) -> None:
    behaviour = _Behaviour()
    found = _probe(scripted, behaviour, no_hits="there is no connector", planned=True)
    assert set(found) == {"answers"}
    assert len(behaviour.prompts) == 3
    with pytest.raises(CannotProbeError, match="there is no connector"):
        _probe(scripted, _Behaviour(), no_hits="there is no connector", planned=False)


@pytest.mark.parametrize("resets", [True, False])
def test_its_tokens_are_bounded(scripted: _Scripted, resets: bool) -> None:
    """Also where it tries again, because nothing comes back."""
    bound = 40_000
    behaviour = _Behaviour(stores=False, resets=resets)
    _probe(scripted, behaviour, bound)
    assert sum(map(len, behaviour.prompts)) <= bound


def test_its_time_is_bounded(scripted: _Scripted) -> None:
    scripted.behaviour = _Behaviour()
    server = Server(f"http://127.0.0.1:{scripted.server_port}")
    probe = Probe(server, read_found(server, None), _CHUNK, Bounds(500_000, 0.25))
    (found,) = probe.run()
    assert "--probe-timeout" in str(found.found) or "did not answer within" in str(found.found)


def test_a_wrong_key_is_no_difference(scripted: _Scripted) -> None:
    scripted.behaviour = _Behaviour()
    server = Server(f"http://127.0.0.1:{scripted.server_port}")
    found = read_found(server, None)
    scripted.RequestHandlerClass = _Locked
    with pytest.raises(NoAnswerError, match="401"):
        list(Probe(server, found, _CHUNK, Bounds(500_000, 60)).run())


class _Locked(_Answers):
    def do_POST(self) -> None:
        self._say(b'{"error": "Unauthorized"}', 401)
