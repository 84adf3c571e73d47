"""A server that does not start for want of KV cache says what ``hmactl check`` said."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.serve, pytest.mark.usefixtures("engine")]

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
_WORDS = re.compile(r"ValueError: (To serve at least one request.*)")
_HMACTL = [sys.executable, "-m", "hmactl"]


_SIDES = {"keep": "hma_on", "disable": "hma_off"}


class Outcome:
    """What was said before and by the server itself."""

    def __init__(self, report: dict[str, Any], status: int, said: str) -> None:
        self.report = report
        self.status = status
        self.said = said


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """One call of ``check`` for both, and both servers at once."""
    directory = tmp_path_factory.mktemp("too-short")
    model = directory / "gemma3"
    subprocess.run([sys.executable, str(_TINY_MODELS), "gemma3", str(model)], check=True)
    for hma in _SIDES:
        (directory / f"{hma}.yaml").write_text(
            f"model: {model}\nhma: {hma}\ntarget: {{gpu: cpu}}\n"
            "vllm: {host: 127.0.0.1, port: 0, enforce-eager: true, max-model-len: 8192, "
            "kv-cache-memory-bytes: 3000000}\n"
        )
    # A server does not ask the engine again what the cache of answers has.
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "XDG_CACHE_HOME": str(directory / "cache"),
    }
    checked = subprocess.run(
        [*_HMACTL, "check", "-q", "--format", "json", *(f"{hma}.yaml" for hma in _SIDES)],
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment,
        check=False,
    )
    reports = {one["name"]: one for one in json.loads(checked.stdout)["deployments"]}
    servers = {
        hma: subprocess.Popen(
            [*_HMACTL, "serve", "-q", "--force", "to hear what vLLM says", f"{hma}.yaml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
        for hma in _SIDES
    }
    try:
        said = {hma: server.communicate(timeout=300)[0] for hma, server in servers.items()}
    finally:
        for server in servers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.communicate()
    return {
        hma: Outcome(reports[hma], server.returncode, said[hma]) for hma, server in servers.items()
    }


@pytest.mark.parametrize("hma", _SIDES)
def test_the_same_words_and_numbers(outcomes: dict[str, Outcome], hma: str) -> None:
    one = outcomes[hma]
    assert one.status != 0
    said = _WORDS.search(one.said)
    assert said is not None, one.said[-3000:]
    assert one.report["plan"][_SIDES[hma]]["error"] == said[1].strip()
    (finding,) = [finding for finding in one.report["findings"] if finding["id"] == "MEM001"]
    words, _, length = said[1].partition("Try increasing")[0].strip().rpartition(" ")
    assert f"{words} {length}" in finding["consequence"]
    assert f"{int(length.rstrip('.')):,}" in finding["fix"]
