"""Servers that really fail to start, and what is made of their words."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from server import free_port

from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine
from hmactl.launch.failures import FailureLog

pytestmark = pytest.mark.serve

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
# Nobody listens on port 1.
_NOBODY = {
    "kv_connector": "LMCacheMPConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {"lmcache.mp.port": 1, "lmcache.mp.mq_timeout": 3},
}
STARTS = {
    "cannot-unify": ("jamba", "--disable-hybrid-kv-cache-manager"),
    "mp-server-missing": ("llama", "--kv-transfer-config", json.dumps(_NOBODY)),
    "unknown-option": ("llama", "--enable-hma"),
}


def _log_of(argv: list[str], environment: dict[str, str]) -> tuple[FailureLog, str]:
    """Run a server that ends by itself, and read all that it says."""
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=300)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    log = FailureLog()
    for line in said.splitlines():
        log.feed("vllm", line)
    return log, said


@pytest.mark.parametrize("cause", STARTS)
def test_the_cause_of_a_failed_start(engine: Engine, cause: str, tmp_path: Path) -> None:
    if engine.vllm_script is None:
        pytest.skip(f"there is no vllm script beside {engine.python}")
    name, *options = STARTS[cause]
    model = tmp_path / name
    subprocess.run([sys.executable, str(_TINY_MODELS), name, str(model)], check=True)
    argv = [
        *(str(engine.vllm_script), "serve", str(model), "--enforce-eager"),
        *("--host", "127.0.0.1", "--port", str(free_port())),
        *("--max-model-len", "4096", "--kv-cache-memory-bytes", str(64 << 20)),
        *options,
    ]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    log, said = _log_of(argv, environment | bridge_environment(engine, environment))
    found = log.causes()
    assert [(one.id, one.deadly) for one in found] == [(cause, True)], said[-3000:]


def test_an_lmcache_server_without_its_size(engine: Engine) -> None:
    script = engine.python.parent / "lmcache"
    if not script.exists():
        pytest.skip("there is no LMCache")
    log, said = _log_of([str(script), "server", "--port", str(free_port())], dict(os.environ))
    assert [one.id for one in log.causes()] == ["lmcache-server-options"], said[-3000:]
