"""What all tests share: the real engine, and running hmactl as an operator does."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hmactl.engine.find import Engine, find_engine

if TYPE_CHECKING:
    from hmactl.finding import Finding
    from hmactl.rules.case import Case, Rule

ROOT = Path(__file__).parent.parent
PROFILES = ROOT / "profiles"


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine in the interpreter that runs the tests."""
    engine = find_engine()
    if not engine.has_vllm:
        pytest.skip(f"no vLLM is installed for {engine.python}")
    return engine


def processes_with(marker: str) -> list[int]:
    """The ids of live processes that have ``marker`` somewhere in their environment.

    Other dry boots may run on this machine, so a name would not do.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and marker.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return [pid for pid in found if pid != os.getpid()]


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
            env={
                **os.environ,
                "HF_HUB_OFFLINE": "1",
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
                **env,
            },
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done

    return run


def reports(directory: Path, profiles: str, *options: str) -> dict[str, dict[str, Any]]:
    """What ``hmactl check`` reports of each document of a text, by its name, in one call.

    Relative model directories are below ``directory``. Never with a traceback.
    """
    (directory / "p.yaml").write_text(profiles)
    command = [sys.executable, "-m", "hmactl", "check", "-q", "--offline", "--no-cache"]
    done = subprocess.run(
        [*command, *options, "--format", "json", "p.yaml"],
        capture_output=True,
        text=True,
        cwd=directory,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["deployments"]}


@pytest.fixture
def rules_in_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rule that is tried by itself find something only where its group concerns the case."""
    from hmactl.rules.catalogue import all_rules, rules_for

    def held(rule: "Rule", check: "Callable[[Case], Iterable[Finding]]") -> Any:
        def checked(case: "Case") -> "Iterator[Finding]":
            for finding in check(case):
                assert rule.ID in {one.ID for one in rules_for(case)}, "its group is left out"
                yield finding

        return checked

    for rule in all_rules():
        module = sys.modules[rule.check.__module__]
        monkeypatch.setattr(module, "check", held(rule, rule.check))
