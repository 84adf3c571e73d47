"""Which processes there are, from /proc."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that lives; ``started``, in clock ticks since boot, tells it from a later one of
    the same number."""

    pid: int
    parent: int
    session: int
    started: int

    @property
    def tracks_resources(self) -> bool:
        """Whether it is Python's resource tracker.

        It removes the shared memory of the processes that it tracks for, once the last of them is
        gone, and then ends by itself.
        """
        try:
            words = (_PROC / str(self.pid) / "cmdline").read_bytes()
        except OSError:
            return False
        return b"multiprocessing.resource_tracker import main" in words


def living() -> dict[int, Process]:
    """Every process that is visible and has not ended, by its number; none without a /proc."""
    return {process.pid: process for process in _read_all()}


def below(root: int, processes: Mapping[int, Process]) -> list[Process]:
    """Children of ``root``, their children, and so on."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        below_one = children.get(waiting.pop(), [])
        found += below_one
        waiting += [process.pid for process in below_one]
    return found


def _read_all() -> Iterator[Process]:
    for entry in _PROC.glob("[0-9]*"):
        # One that ends meanwhile is none that lives.
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may have spaces and parentheses in it.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                yield Process(int(entry.name), int(fields[1]), int(fields[3]), int(fields[19]))
