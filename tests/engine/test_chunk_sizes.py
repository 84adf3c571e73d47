"""LMCache's chunks against the blocks that the engine plans."""

import json
from pathlib import Path

import pytest
from conftest import Run

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

IN_PROCESS = """\
name: {name}
model: openai/gpt-oss-20b
connector: LMCacheConnectorV1
lmcache: {{chunk_size: {size}}}
"""
AS_A_VARIABLE = IN_PROCESS.replace(
    "lmcache: {{chunk_size: {size}}}", 'env: {{LMCACHE_CHUNK_SIZE: "{size}"}}'
)
SERVER = """\
name: {name}
model: Qwen/Qwen3-Next-80B-A3B-Instruct
vllm: {{tensor-parallel-size: 4}}
connector: LMCacheMPConnector
lmcache_server: {server}
"""
# The block size of Qwen3-Next at TP 4 is 272 on vLLM 0.32 and another on others: the report says.
DOCUMENTS = [
    IN_PROCESS.format(name="fits", size=256),
    IN_PROCESS.format(name="ends-in-a-block", size=200),
    IN_PROCESS.format(name="not-positive", size=-5),
    AS_A_VARIABLE.format(name="as-a-variable", size=200),
    SERVER.format(name="default", server="{host: localhost}"),
    SERVER.format(name="set", server="{chunk-size: 512}"),
]


def test_each_chunk_size(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("---\n".join(DOCUMENTS))
    done = hmactl("check", "-q", "--format", "json", "--kv-cache-memory", "20GiB", "p.yaml")
    found = {one["name"]: one for one in json.loads(done.stdout)["deployments"]}

    def messages(name: str, rule: str) -> list[tuple[str, str]]:
        return [(f["message"], f["fix"]) for f in found[name]["findings"] if f["id"] == rule]

    assert messages("fits", "LMC004") == []
    ((message, fix),) = messages("ends-in-a-block", "LMC004")
    assert "200 is no multiple of vLLM's block size 16" in message
    assert fix.startswith("192,")  # 12.5 blocks: the even neighbour
    ((message, fix),) = messages("not-positive", "LMC004")
    assert fix.startswith("16,")
    ((message, _fix),) = messages("as-a-variable", "LMC004")
    assert "`LMCACHE_CHUNK_SIZE` 200 is no multiple" in message
    block = found["default"]["plan"]["hma_on"]["groups"][0]["block_size"]
    assert 256 % block != 0
    ((message, fix),) = messages("default", "LMS001")
    assert "256 (LMCache's default) of the LMCache server is no multiple of" in message
    assert f"block size {block}" in message
    ((message, fix),) = messages("set", "LMS001")
    assert f"`chunk-size: {round(512 / block) * block}`" in fix


def test_the_server_that_fits(hmactl: Run) -> None:
    from conftest import PROFILES

    done = hmactl("check", "-q", PROFILES / "qwen3-next-80b-lmcache-mp.yaml")
    assert "LMS001" not in done.stdout
    assert done.returncode == 0
