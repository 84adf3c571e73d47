"""What all tests share: the real engine, and running hmactl as an operator does."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hmactl.engine.find import Engine, find_engine

ROOT = Path(__file__).parent.parent
PROFILES = ROOT / "profiles"


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine in the interpreter that runs the tests."""
    engine = find_engine()
    if not engine.has_vllm:
        pytest.skip(f"no vLLM is installed for {engine.python}")
    return engine


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hmactl(tmp_path: Path) -> Run:
    """Run ``hmactl`` in an empty directory; never with a traceback."""

    def run(
        *arguments: str | Path, stdin: str = "", timeout: float = 300, **env: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "hmactl", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=tmp_path,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **env},
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done

    return run
