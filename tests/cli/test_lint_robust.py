"""Lint of many files: what one of them does must not cost the others."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Run

import hmactl.lint_files
import hmactl.sources.read
from hmactl.cli import main

# One error in each: LMCache 0.5.6 has no such key.
FAULTY = """\
model: Qwen/Qwen3-8B
connector: LMCacheConnectorV1
lmcache: {chunk_sise: 256}
target: {vllm: "0.32.0", lmcache: "0.5.6"}
"""
MANY = 70


def _write(directory: Path, count: int) -> None:
    for number in range(count):
        (directory / f"p{number:03}.yaml").write_text(FAULTY)


def _fail(text: str) -> None:
    raise KeyError(text)


def _die(text: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("count", "harm", "says"),
    [
        (3, _fail, "a defect of hmactl"),
        (MANY, _fail, "a defect of hmactl"),
        (MANY, _die, "was killed"),
    ],
    ids=["defect", "defect-in-a-pool", "killed-in-a-pool"],
)
def test_a_file_that_cannot_be_judged(
    count: int,
    harm: Callable[[str], None],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _write(tmp_path, count)
    (tmp_path / "bad.yaml").write_text(FAULTY)
    # A machine with one processor would use no pool.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    reads = hmactl.sources.read.read_source

    def read(source: str, *rest: object) -> object:
        if source.endswith("bad.yaml"):
            harm("sk-abcdefghijklmnopqrstuvwxyz012345")
        return reads(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(hmactl.lint_files, "read_source", read)
    done = CliRunner().invoke(main, ["lint", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 2
    assert done.stdout.count("LMC001") == count
    told = [line for line in done.stderr.splitlines() if "is not judged" in line]
    assert len(told) == 1
    assert "bad.yaml" in told[0]
    assert says in told[0]
    assert "sk-abc" not in done.stderr


def _tree(root: Path) -> None:
    """Everything in a directory that may stop or lead astray one who walks it."""
    (root / "good.yaml").write_text(FAULTY)
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "elsewhere.yaml").write_text(FAULTY)
    (root / "out").symlink_to(outside)
    (root / "out.yaml").symlink_to(outside / "elsewhere.yaml")
    (root / "loop").symlink_to(root)
    (root / "self.yaml").symlink_to(root / "self.yaml")
    os.mkfifo(root / "fifo.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket.yaml"))
    (root / "binary.yaml").write_bytes(bytes(range(256)) * 4096)
    (root / "latin.yaml").write_bytes(b"model: caf\xe9\n" + FAULTY.encode())
    (root / "nul.yaml").write_text(FAULTY + "\0")
    (root / "long.yaml").write_text("model: " + "x" * 900_000)
    (root / "deep.yaml").write_text("[" * 100_000)
    (root / "bomb.yaml").write_text(
        "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    )
    (root / "many.yaml").write_text("---\nmodel: a/b\n" * 5000)
    with (root / "huge.yaml").open("wb") as file:
        file.truncate(1 << 30)
    locked = root / "locked"
    locked.mkdir(mode=0)


def test_a_hostile_directory(hmactl: Run, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    _tree(root)
    started = time.monotonic()
    done = hmactl("lint", root, timeout=60)
    # Five seconds alone on the machine; a bomb or an endless wait takes for ever.
    assert time.monotonic() - started < 50
    assert done.returncode == 1
    assert f"{root}/good.yaml:3:" in done.stdout
    assert "elsewhere" not in done.stdout
    assert "out.yaml" not in done.stdout
    assert "is not judged" not in done.stderr


def test_a_hostile_file_by_name(hmactl: Run, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    _tree(root)
    names = ("fifo", "socket", "binary", "latin", "nul", "deep", "bomb", "huge", "self", "gone")
    for name in names:
        done = hmactl("lint", root / f"{name}.yaml", timeout=30)
        assert done.returncode == 1, (name, done.stderr)
        assert f"{name}.yaml" in done.stdout, name


def test_memory_is_bounded(tmp_path: Path) -> None:
    """All processes of a lint of many files, in bytes that are theirs or shared among them."""
    _write(tmp_path, 200)
    child = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=False, capture_output=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", child, sys.executable, "-m", "hmactl", "lint", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100 << 10, "KiB of the largest of its processes"
