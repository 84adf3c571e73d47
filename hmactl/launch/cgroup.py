"""The control groups that limit this process's memory, of both versions of cgroups."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")
# Version 1 says so of no limit: the largest number of whole pages.
_NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """A control group. Sizes in bytes, ``used`` without the page cache, which gives way.

    ``killed`` counts the processes in it that the kernel ended for want of memory. None: no limit,
    or it is not known.
    """

    limit: int | None
    used: int | None
    killed: int | None

    @property
    def left(self) -> int | None:
        """What can still be had of its limit."""
        return None if self.limit is None else max(0, self.limit - (self.used or 0))


def memory_groups(membership: Path = MEMBERSHIP, root: Path = ROOT) -> Iterator[MemoryGroup]:
    """That of this process, and those around it as far as they can be seen."""
    try:
        lines = membership.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        _number, controllers, name = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            for directory in _upwards(root, name):
                yield _group(directory, "memory.max", "memory.current", "memory.events", "")
        elif "memory" in controllers.split(","):
            for directory in _upwards(root / "memory", name):
                files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")
                yield _group(directory, *files, "total_")


def statistic(path: Path, name: str) -> int | None:
    """A value of a file that has a name and a number in each line."""
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == [name]:
                return int(words[1])
    return None


def _upwards(root: Path, name: str) -> Iterator[Path]:
    path = root / name.lstrip("/")
    # In a container the file system shows the container's group as its root.
    for place in [path, *path.parents] if path.is_relative_to(root) else [root]:
        yield place
        if place == root:
            return


def _group(directory: Path, limit: str, used: str, events: str, prefix: str) -> MemoryGroup:
    most, now = (_number(directory / name) for name in (limit, used))
    cache = statistic(directory / "memory.stat", f"{prefix}inactive_file") or 0
    return MemoryGroup(
        most if most is not None and most < _NO_LIMIT else None,
        None if now is None else max(0, now - cache),
        statistic(directory / events, "oom_kill"),
    )


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text().strip())
    return None
