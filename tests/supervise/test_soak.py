"""Start, harm, stop, again and again: nothing is ever left.

HMACTL_SOAK is the number of rounds, for more than the few that every run of the tests makes.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from supervised import Supervised, free_ports, server, supervising

ROUNDS = int(os.environ.get("HMACTL_SOAK", "10"))
TERM, KILL = signal.SIGTERM, signal.SIGKILL


def _pids(directory: Path, name: str) -> list[int]:
    trace = directory / name
    lines = trace.read_text().splitlines() if trace.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("start")]


def _hit(run: Supervised, name: str, number: int) -> None:
    for pid in _pids(run.directory, name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _twice(run: Supervised) -> None:
    run.send(TERM)
    time.sleep(1.1)
    with contextlib.suppress(ProcessLookupError):
        run.send(signal.SIGINT)


def _both(run: Supervised) -> None:
    _hit(run, "vllm", KILL)
    _hit(run, "lmcache", KILL)


def _frozen(run: Supervised) -> None:
    _hit(run, "vllm", signal.SIGSTOP)
    run.send(TERM)


# What is done to it, and the statuses that may follow: it depends on how far the start has come.
FAULTS: dict[str, tuple[Callable[[Supervised], None], set[int]]] = {
    "SIGTERM": (lambda run: run.send(TERM), {0, 137, 143}),
    "SIGINT": (lambda run: run.send(signal.SIGINT), {0, 130, 137, 143}),
    "SIGHUP": (lambda run: run.send(signal.SIGHUP), {0, 129, 137, 143}),
    "two signals": (_twice, {0, 137, 143}),
    "frozen": (_frozen, {0, 137, 143}),
    "engine killed": (lambda run: _hit(run, "vllm", KILL), {137}),
    "engine crashed": (lambda run: _hit(run, "vllm", signal.SIGSEGV), {139}),
    "companion killed": (lambda run: _hit(run, "lmcache", KILL), {1}),
    "both killed": (_both, {1, 137}),
}


@pytest.mark.timeout(60 + 20 * ROUNDS)
def test_nothing_is_ever_left(tmp_path: Path) -> None:
    seed = int(os.environ.get("HMACTL_SOAK_SEED", "1"))
    chance = random.Random(seed)
    files = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(ROUNDS):
        directory = tmp_path / str(number)
        directory.mkdir()
        name = chance.choice(list(FAULTS)) if len(FAULTS) * 2 < ROUNDS else _nth(number)
        fault, statuses = FAULTS[name]
        what = f"round {number} of seed {seed}: {name}"
        ports = free_ports(2)
        extras = [
            *("--workers", chance.randrange(3), "--strangers", chance.randrange(2)),
            *("--daemons", chance.randrange(2), "--zombies", chance.randrange(3)),
            *(["--deaf"] if chance.random() < 0.2 else []),
            *(["--deaf-workers"] if chance.random() < 0.2 else []),
            *("--shm", "/dev/shm", "--touch", "x", "--flood", chance.choice([0, 200_000])),
        ]
        companion = server(
            *("lmcache", "--trace", directory / "lmcache", "--shm", "/dev/shm"),
            *("--delay", chance.random() / 4),
            port=ports[0],
            stop_seconds=0.5,
        )
        engine = server(
            *("vllm", "--trace", directory / "vllm", "--delay", chance.random() / 4, *extras),
            port=ports[1],
            stop_seconds=0.5,
        )
        with supervising(directory, companion, engine) as run:
            # Whom it is done to must be there; how far that one is with its start is chance.
            whom = "lmcache" if name == "companion killed" else "vllm"
            if name.startswith("SIG"):
                whom = chance.choice(["lmcache", "vllm"])
            run.wait_for(lambda: bool(_pids(run.directory, whom)))  # noqa: B023 - called here
            time.sleep(chance.random() / 2)
            fault(run)
            status = run.status(40)
        assert status in statuses, f"{what}: {status}\n{run.stderr}"
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def _nth(number: int) -> str:
    return list(FAULTS)[number % len(FAULTS)]


def test_a_supervisor_keeps_no_file_open(tmp_path: Path) -> None:
    ports = free_ports(2)
    companion = server("lmcache", "--delay", 0.3, port=ports[0])
    engine = server("vllm", "--exit", 3, "--after", 0.3, port=ports[1])
    with supervising(tmp_path, companion, engine, repeat=4) as run:
        assert run.status(60) == 3
        counts = [line.split()[-1] for line in run.stdout.splitlines() if "open files" in line]
        assert len(counts) == 4
        assert len(set(counts)) == 1
