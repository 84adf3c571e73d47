"""An engine whose environment is nearly right really serves through the bridge."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from server import Server, free_port

from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine

pytestmark = pytest.mark.serve

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"


@pytest.fixture(scope="module")
def environment(engine: Engine) -> Mapping[str, str]:
    """The environment of the tests with what the bridge adds, and nothing of the hub."""
    if engine.vllm_script is None:
        pytest.skip(f"there is no vllm script beside {engine.python}")
    if not bridge_environment(engine, {}):
        pytest.skip("this engine's environment is sound: it needs no bridge")
    return {**os.environ, "HF_HUB_OFFLINE": "1", **bridge_environment(engine, os.environ)}


def test_the_command_line_answers_with_its_version(
    engine: Engine, environment: Mapping[str, str]
) -> None:
    answer = subprocess.run(
        [str(engine.vllm_script), "--version"],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert engine.vllm is not None
    assert answer.stdout.strip().startswith(engine.vllm.version)


def test_a_server_starts_answers_and_stops(
    engine: Engine, environment: Mapping[str, str], tmp_path: Path
) -> None:
    model = tmp_path / "gemma3"
    subprocess.run([sys.executable, str(_TINY_MODELS), "gemma3", str(model)], check=True)
    port = free_port()
    argv = [
        *(str(engine.vllm_script), "serve", str(model), "--served-model-name", "tiny"),
        *("--host", "127.0.0.1", "--port", str(port), "--enforce-eager"),
        *("--kv-cache-memory-bytes", str(64 << 20), "--max-model-len", "8192"),
    ]
    with Server(argv, environment, port, tmp_path / "logs") as server:
        server.wait_healthy(300)
        answer = server.complete("tiny", "hi" * 600)
        assert answer["usage"]["prompt_tokens"] == 600
        assert answer["usage"]["completion_tokens"] == 4
        # Six groups: the engine core, a process that vLLM spawned, has planned for HMA.
        assert server.grep(r"kv cache group sizes \((\d+, ){5}\d+\)")
        assert len(server.session()) > 1
        assert server.stop() == 0
        assert server.leftovers() == []
