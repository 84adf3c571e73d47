"""``hmactl serve`` on a machine that lacks something starts nothing, and says what it lacks."""

import json
import socket
from pathlib import Path

import pytest
from conftest import Run
from tiny_configs import TEXT

from hmactl.engine.find import Engine

pytestmark = pytest.mark.engine


@pytest.fixture
def profile(engine: Engine, tmp_path: Path) -> str:
    """A model without weights, and a connector whose processes must hash alike."""
    if engine.lmcache is None:
        pytest.skip("there is no LMCache")
    config = TEXT | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    (tmp_path / "p.yaml").write_text(
        "model: model\n"
        "connector: LMCacheConnectorV1\n"
        "target: {gpu: cpu}\n"
        "vllm: {kv-cache-memory-bytes: 64000000, host: 127.0.0.1, max-model-len: 2048}\n"
    )
    return "p.yaml"


def test_what_the_machine_lacks_and_a_seed(hmactl: Run, profile: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        behind = ("--", "--port", port, "--ssl-keyfile", "no-such-key.pem")
        refused = hmactl("serve", "--offline", profile, *behind)
        assert refused.returncode == 1
        assert f"vLLM cannot listen: port {port} is taken" in refused.stderr
        assert "`ssl-keyfile` is " in refused.stderr
        assert "not launched" in refused.stderr
        # It needs nothing of this machine, and shows what would be set.
        shown = hmactl("serve", "--offline", "--dry-run", profile, *behind)
    assert shown.returncode == 0
    assert "PYTHONHASHSEED=0" in shown.stdout
    assert "PYTHONHASHSEED=0 is set for the server" in shown.stderr
    assert "cannot listen" not in shown.stderr
    # The operator's own seed stays.
    own = hmactl("serve", "--offline", "--dry-run", profile, PYTHONHASHSEED="7")
    assert own.returncode == 0
    assert "PYTHONHASHSEED" not in own.stdout + own.stderr
