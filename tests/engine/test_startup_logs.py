"""The plan for the memory that a user's server reported has the tokens that it printed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

CASES = json.loads((Path(__file__).parent.parent / "cases" / "startup-logs.json").read_text())
GIB = 2**30
# The log rounds the memory to a hundredth of a GiB.
ROUNDING = 0.005 * GIB


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One call for all points."""
    directory = tmp_path_factory.mktemp("logs")
    for name, config in CASES["configs"].items():
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config))
    documents = [
        f"name: {point['id']}\n"
        f"model: {directory / point['config']}\n"
        "vllm:\n"
        f"  tensor-parallel-size: {point['tensor_parallel_size']}\n"
        f"  max-model-len: {point['max_model_len']}\n"
        f"target: {{gpu: H100, kv_cache_memory: {int(point['available_gib'] * GIB)}}}\n"
        for point in CASES["points"]
    ]
    path = directory / "p.yaml"
    path.write_text("---\n".join(documents))
    done = subprocess.run(
        [sys.executable, "-m", "hmactl", "check", "-q", "--no-cache", "--format", "json", path],
        capture_output=True,
        text=True,
        check=False,
    )
    return {one["name"]: one for one in json.loads(done.stdout)["deployments"]}


@pytest.mark.parametrize("point", CASES["points"], ids=lambda point: point["id"])
def test_the_same_tokens(plans: dict[str, Any], point: dict[str, Any]) -> None:
    side = plans[point["id"]]["plan"][f"hma_{point['hma']}"]
    block = side["groups"][0]["block_size"]
    planned = side["num_blocks"] // len(side["groups"]) * block
    # How many tokens the rounded memory leaves open, and one block that it may have cut.
    token_bytes = point["available_gib"] * GIB / planned
    tolerance = ROUNDING / token_bytes + block
    assert planned == pytest.approx(point["tokens"], abs=tolerance)
    # The tolerance must be able to tell HMA on from off, or one head count from another.
    assert tolerance < 0.005 * planned
