"""The plan for the memory that a user's server logged has the tokens that it printed.

Asked are the vLLM in this interpreter and those that HMACTL_TEST_PYTHONS names, each in one call:
of a release, the points that it has figures for.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hmactl.engine.find import find_engine

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parent.parent.parent
CASES = json.loads((ROOT / "tests" / "cases" / "startup-logs.json").read_text("utf-8"))
POINTS = {point["id"]: point for point in CASES["points"]}
GIB = 2**30
OTHERS = [python for python in os.environ.get("HMACTL_TEST_PYTHONS", "").split(":") if python]


class Planned:
    """What one release plans for each of its points, and for those that it refuses, by id."""

    def __init__(self, version: str, reports: dict[str, dict[str, Any]]) -> None:
        self.version = version
        self.reports = reports
        self.sides = {
            name: reports[name]["plan"][f"hma_{point['hma']}"]
            for name, point in POINTS.items()
            if name in reports
        }

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        return ((POINTS[name], side) for name, side in self.sides.items())


@pytest.fixture(scope="module", params=[sys.executable, *OTHERS])
def planned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """One call for all points of one release."""
    found = find_engine(request.param, timeout=120)
    if found.vllm is None:
        pytest.skip(f"no vLLM is installed for {found.python}")
    version = found.vllm.version
    points = [point for point in CASES["points"] if version in point["planned"]]
    if not points:
        pytest.skip(f"no figures for vLLM {version}")
    directory = tmp_path_factory.mktemp("logs")
    for name, config in CASES["configs"].items():
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config["config"]))
    profiles = [_profile(point, version) for point in (*points, *CASES["refused"])]
    (directory / "p.yaml").write_text("---\n".join(map(yaml.safe_dump, profiles)))
    command = [sys.executable, "-m", "hmactl", "check", "-q", "--offline", "--no-cache"]
    done = subprocess.run(
        [*command, "--python", request.param, "--format", "json", "p.yaml"],
        capture_output=True,
        text=True,
        cwd=directory,
        check=False,
    )
    reports = {one["name"]: one for one in json.loads(done.stdout)["deployments"]}
    assert set(reports) == {profile["name"] for profile in profiles}
    failures = {name: one["failure"] for name, one in reports.items() if one["plan"] is None}
    assert failures == {}
    return Planned(version, reports)


def _profile(point: dict[str, Any], version: str) -> dict[str, Any]:
    flags = point["flags"]
    return {
        "name": point["id"],
        "model": point["config"],
        "vllm": flags,
        "target": {
            # The engine is loaded anew for another GPU.
            "gpu": point["gpu"] if version == point.get("asked") else "H100",
            "gpus": flags.get("tensor-parallel-size", 1),
            "kv_cache_memory": point["memory"],
        },
        **{key: point[key] for key in ("connector", "env") if key in point},
    }


def test_the_logged_tokens_and_concurrency(planned: Planned) -> None:
    """To the last token: the memory lies inside of what the log rounds to the printed figure."""
    for point, side in planned:
        if planned.version != point["asked"] or point["why"] is not None:
            continue
        assert side["error"] is None, point["id"]
        if point["tokens"] is not None:
            assert side["tokens"] == point["tokens"], point["id"]
        if point["concurrency"] is not None:
            printed = f"{side['max_concurrency']:.2f}"
            assert printed == f"{point['concurrency']:.2f}", point["id"]


def test_the_blocks_whatever_the_release(planned: Planned) -> None:
    """What the log says of the blocks of a uniform model, or of one with windows, holds for all.

    The tokens that are printed have changed; a release up to 0.20.0 prints those of one group.
    """
    for point, side in planned:
        if point["why"] is None and point["same_blocks"]:
            # A Mamba state that is kept once is a block of the maximum length.
            block = min(group["block_size"] for group in side["groups"])
            tokens = side["num_blocks"] // len(side["groups"]) * block
            assert tokens == point["tokens"], point["id"]


def test_what_is_recorded(planned: Planned) -> None:
    """Also where it is not what was logged, and for releases that print otherwise."""
    for point, side in planned:
        blocks, tokens, concurrency = point["planned"][planned.version]
        assert (side["num_blocks"], side["tokens"]) == (blocks, tokens), point["id"]
        if concurrency is not None:
            # Older releases print two decimals and keep none.
            assert side["max_concurrency"] == pytest.approx(concurrency, abs=0.0051), point["id"]


def test_what_a_request_needs_where_it_does_not_fit(planned: Planned) -> None:
    for point in CASES["refused"]:
        side = planned.reports[point["id"]]["plan"]["hma_on"]
        assert side["error"] is not None
        assert side["bytes_per_request"] == pytest.approx(point["needed_gib"] * GIB, abs=GIB / 200)
