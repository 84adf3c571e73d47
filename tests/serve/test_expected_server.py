"""A real LMCache server that a connector expects, looked at before vLLM is started."""

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed import VERSIONS, connector_named
from server import free_port

from hmactl.engine.answer import (
    Answer,
    Group,
    Plan,
    Plans,
    Versions,
)
from hmactl.engine.find import Engine
from hmactl.facts.facts import Facts
from hmactl.launch.preconditions.lmcache_server import lmcache_server_problems
from hmactl.launch.preconditions.problem import Problem
from hmactl.rules.case import Case
from hmactl.sources.profile import read_profiles
from hmactl.verdict.verdict import HMA_ON, Decision, Verdict

pytestmark = pytest.mark.serve

CHUNK = 512
_SECONDS = 120
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def ports(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The port and the HTTP port of a server with chunks of 512 tokens."""
    script = engine.python.parent / "lmcache"
    if not script.exists():
        pytest.skip("there is no LMCache")
    port, http_port = free_port(), free_port()
    log = tmp_path_factory.mktemp("lmcache") / "log"
    argv = [
        *(str(script), "server", "--port", str(port), "--http-port", str(http_port)),
        *("--l1-size-gb", "1", "--eviction-policy", "LRU", "--chunk-size", str(CHUNK)),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        _wait(process, http_port, log)
        yield port, http_port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    for _ in range(_SECONDS * 5):
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            _OPENER.open(f"http://127.0.0.1:{port}/healthcheck", timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text()[-3000:])


def _problems(
    ports: tuple[int, int],
    *,
    block: int = 16,
    described: str = "",
    asked: int | None = None,
    lmcache: str | None = VERSIONS.lmcache,
) -> list[Problem]:
    text = (
        f"{{model: m, lmcache_server: {{http-port: {ports[1]}{described}}}, connector: "
        f"{{name: LMCacheMPConnector, extra_config: {{lmcache.mp.port: {asked or ports[0]}}}}}}}"
    )
    (document,) = read_profiles("p.yaml", text)
    assert document.deployment is not None
    group = Group(spec="FullAttentionSpec", block_size=block, page_size_bytes=1024, layers=4)
    plan = Plan(error=None, groups=(group,), block_size=block)
    answer = Answer(
        error=None,
        versions=Versions(
            vllm=VERSIONS.vllm,
            vllm_path="",
            lmcache=lmcache,
            torch=VERSIONS.torch,
            transformers=None,
            python=VERSIONS.python,
            python_path="",
        ),
        plan=Plans(hma_on=plan, hma_off=plan),
        connector=connector_named("LMCacheMPConnector", supports_hma=True),
    )
    facts = Facts(document.deployment, answer, None, None, None)
    verdict = Verdict(Decision.KEEP, None, HMA_ON, "")
    return list(lmcache_server_problems(Case(facts, verdict)))


def test_one_that_fits(ports: tuple[int, int], engine: Engine) -> None:
    assert engine.lmcache is not None
    version = engine.lmcache.version
    assert _problems(ports, described=f", chunk-size: {CHUNK}", lmcache=version) == []


@pytest.mark.parametrize("described", ["", ", chunk-size: 544"])
def test_chunks_that_do_not_fit_the_blocks(ports: tuple[int, int], described: str) -> None:
    (problem,) = _problems(ports, block=544, described=described)
    assert problem.fatal
    assert f"`chunk-size` {CHUNK}" in problem.problem
    assert f"at localhost:{ports[0]}" in problem.problem


def test_chunks_other_than_the_profile_says(ports: tuple[int, int]) -> None:
    (problem,) = _problems(ports, described=", chunk-size: 256")
    assert not problem.fatal
    assert f"chunks of {CHUNK} tokens, and the profile says 256" in problem.problem


def test_another_release(ports: tuple[int, int]) -> None:
    (problem,) = _problems(ports, lmcache="0.5.2")
    assert not problem.fatal
    assert "the connector is of LMCache 0.5.2" in problem.problem


def test_http_of_another_server_says_nothing(ports: tuple[int, int]) -> None:
    """Its own port is not the one that the connector asks at."""
    assert _problems(ports, asked=ports[1], block=544) == []
