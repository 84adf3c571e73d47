"""Several deployments in one call: one loaded engine, and none disturbs another."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PROFILES, Run

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

NAMES = ("gpt-oss-20b-offloading.yaml", "gemma-3-4b-multi.yaml")


def _deployments(hmactl: Run, *arguments: str | Path, **env: str) -> list[dict[str, Any]]:
    done = hmactl("check", "-q", "--format", "json", "--gpu", "H200", *arguments, **env)
    deployments: list[dict[str, Any]] = json.loads(done.stdout)["deployments"]
    return deployments


def test_together_is_the_same_as_one_by_one(hmactl: Run) -> None:
    paths = [PROFILES / name for name in NAMES]
    together = _deployments(hmactl, *paths)
    one_by_one = [one for path in paths for one in _deployments(hmactl, path)]
    assert together == one_by_one
    # Another neighbour, another order, and the same answers.
    assert _deployments(hmactl, *reversed(paths)) == together[::-1]


def test_a_crash_is_only_its_own(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text("import os\nos.abort()\n")
    (tmp_path / "p.yaml").write_text(
        "model: openai/gpt-oss-20b\n"
        "---\n"
        "model: openai/gpt-oss-20b\nconnector: {name: Mine, module_path: crashing}\n"
        "---\n"
        "model: openai/gpt-oss-20b\n"
    )
    first, crashed, last = _deployments(hmactl, "p.yaml", PYTHONPATH=str(tmp_path))
    assert "SIGABRT" in crashed["failure"]
    assert first["plan"] == last["plan"] is not None


def test_each_has_its_own_environment(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "model: openai/gpt-oss-20b\nconnector: LMCacheMPConnector\n"
        'env: {LMCACHE_USE_UPSTREAM_MP: "1"}\n'
        "---\n"
        "model: openai/gpt-oss-20b\nconnector: LMCacheMPConnector\n"
    )
    upstream, own = _deployments(hmactl, "p.yaml")
    assert upstream["connector"]["supports_hma"] is False
    assert own["connector"]["supports_hma"] is True
