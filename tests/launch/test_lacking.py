"""A source whose values are not all known is not started as if they were."""

from pathlib import Path

import pytest

from hmactl.launch.lacking import lacking
from hmactl.sources.read import read_source

SCRIPT = """\
#!/bin/bash
export HF_TOKEN=$(cat /run/secrets/hf)
cat > {file} <<'EOF'
chunk_size: 256
EOF
export LMCACHE_CONFIG_FILE={file}
vllm serve m --kv-transfer-config "{{\\"kv_connector\\": \\"LMCacheMPConnector\\", \\
\\"kv_role\\": \\"kv_both\\", \\"kv_connector_extra_config\\": \\
{{\\"lmcache.mp.host\\": \\"tcp://$NODE\\", \\"lmcache.mp.port\\": 6555}}}}"
"""


@pytest.mark.parametrize("here", [True, False])
def test_what_is_lacking(tmp_path: Path, here: bool) -> None:
    file = tmp_path / "lmcache.yaml"
    if here:
        file.touch()
    (document,) = read_source("serve.sh", SCRIPT.format(file=file))
    assert document.deployment is not None
    found = list(lacking(document.deployment, {"HF_TOKEN": "x"} if here else {}))
    address = next(line for line in found if "lmcache.mp.host" in line)
    assert "--set NODE=..." in address
    assert any("HF_TOKEN" in line for line in found) is not here
    assert any(str(file) in line for line in found) is not here


def test_a_whole_source_lacks_nothing() -> None:
    (document,) = read_source("serve.sh", "#!/bin/sh\nA=1 vllm serve m --port 1\n")
    assert document.deployment is not None
    assert not list(lacking(document.deployment, {}))
