"""The figures of the start-up logs: what is claimed of a point follows from what was logged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
CASES = json.loads((ROOT / "tests" / "cases" / "startup-logs.json").read_text("utf-8"))
GIB = 2**30


@pytest.mark.parametrize("point", CASES["points"], ids=lambda point: point["id"])
def test_a_point_without_an_explanation_is_reproduced(point: dict[str, Any]) -> None:
    _blocks, tokens, concurrency = point["planned"][point["asked"]]
    same = point["tokens"] in (None, tokens) and (
        point["concurrency"] is None or f"{concurrency:.2f}" == f"{point['concurrency']:.2f}"
    )
    assert same == (point["why"] is None)


@pytest.mark.parametrize("point", CASES["points"], ids=lambda point: point["id"])
def test_the_memory_is_what_the_log_rounds(point: dict[str, Any]) -> None:
    if not point.get("implied"):
        assert point["memory"] / GIB == pytest.approx(point["available_gib"], abs=0.005001)


def test_every_other_point_has_a_reason() -> None:
    assert all(point["why"] for point in CASES["not_asked"])


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, "-m", "tools.startup_logs", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
