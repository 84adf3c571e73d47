"""A server that does not start for want of KV cache says what ``hmactl check`` said."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.serve, pytest.mark.usefixtures("engine")]

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
_WORDS = re.compile(r"ValueError: (To serve at least one request.*)")
_HMACTL = [sys.executable, "-m", "hmactl"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("models") / "gemma3"
    subprocess.run([sys.executable, str(_TINY_MODELS), "gemma3", str(directory)], check=True)
    return directory


@pytest.mark.parametrize(("hma", "side"), [("keep", "hma_on"), ("disable", "hma_off")])
def test_the_same_words_and_numbers(model: Path, tmp_path: Path, hma: str, side: str) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(
        f"model: {model}\nhma: {hma}\ntarget: {{gpu: cpu}}\n"
        "vllm: {host: 127.0.0.1, port: 0, enforce-eager: true, max-model-len: 8192, "
        "kv-cache-memory-bytes: 3000000}\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    checked = subprocess.run(
        [*_HMACTL, "check", "-q", "--no-cache", "--format", "json", profile],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    (one,) = json.loads(checked.stdout)["deployments"]
    served = subprocess.run(
        [*_HMACTL, "serve", "-q", "--force", "to hear what vLLM says", profile],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert served.returncode != 0
    said = _WORDS.search(served.stdout + served.stderr)
    assert said is not None, served.stderr[-3000:]
    assert one["plan"][side]["error"] == said[1].strip()
    (finding,) = [finding for finding in one["findings"] if finding["id"] == "MEM001"]
    words, _, length = said[1].partition("Try increasing")[0].strip().rpartition(" ")
    assert f"{words} {length}" in finding["consequence"]
    assert f"{int(length.rstrip('.')):,}" in finding["fix"]
