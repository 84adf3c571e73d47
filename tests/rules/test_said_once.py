"""What a chart makes of its values is said once, by the rule about the chart."""

import pytest
from conftest import ROOT

from hmactl.lint import Pins
from hmactl.lint_files import lint_text
from hmactl.sources.given import Given

TRAPS = (ROOT / "tests/cases/sources/helm/stack-traps.yaml").read_text("utf-8")
TWICE = (
    'vllm serve Qwen/Qwen3-8B --kv-transfer-config \'{"kv_connector": "NixlConnector", '
    '"kv_role": "kv_both"}\' --kv-transfer-config \'{"kv_connector": "OffloadingConnector", '
    '"kv_role": "kv_both"}\'\n'
)
SIZE = "model: Qwen/Qwen3-8B\nconnector: LMCacheConnectorV1\nlmcache: {max_local_disk_size: 100}\n"
# The chart sets another variable of a part that is off: no rule about the chart says that.
OTHER = TRAPS.replace("diskOffloadingBufferSize: 100", "instanceId: x").replace(
    "tag: v0.21.0", "tag: v0.21.0\n      env: [{name: LMCACHE_P2P_HOST, value: 10.0.0.1}]", 1
)


@pytest.mark.parametrize(
    ("text", "said", "unsaid"),
    [
        (TRAPS, {"K8S013", "K8S015"}, {"CON020", "LMC027"}),
        (TWICE, {"CON020"}, {"K8S015"}),
        (SIZE, {"LMC027"}, {"K8S013"}),
        (OTHER, {"K8S015", "LMC027"}, {"CON020", "K8S013"}),
    ],
    ids=["chart", "connector", "disk", "another part"],
)
def test_once(text: str, said: set[str], unsaid: set[str]) -> None:
    result = lint_text("f", text, Pins("0.32.0", "0.5.6"), Given(), None, named=True)
    # The sound entry of the chart's values is judged by the same rules.
    found = {f.id for f in result.findings if (f.origin.line or 0) < 19}
    assert said <= found
    assert not unsaid & found
