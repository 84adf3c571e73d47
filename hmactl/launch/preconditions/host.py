"""This machine's memory and limits, as this process may use them."""

import contextlib
import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hmactl.deployment.deployment import UNLIMITED

_CGROUP = Path("/sys/fs/cgroup")
# cgroup v1 says so of no limit: the largest number of whole pages.
_NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Host:
    """Sizes in bytes; None means: cannot be known here.

    ``memory`` is the machine's, ``memory_limit`` that of the container or unit, ``available`` what
    can be had of both now, ``shm`` what is free in /dev/shm and ``shm_size`` all of it,
    ``memlock`` RLIMIT_MEMLOCK.
    """

    memory: int | None = None
    memory_limit: int | None = None
    available: int | None = None
    shm: int | None = None
    shm_size: int | None = None
    memlock: int | None = None


def this_host(
    meminfo: Path = Path("/proc/meminfo"),
    membership: Path = Path("/proc/self/cgroup"),
    cgroups: Path = _CGROUP,
    shm: Path = Path("/dev/shm"),  # noqa: S108 - it is the one that processes share memory in
) -> Host:
    """What this process finds; the paths are for tests."""
    sizes = _meminfo(meminfo)
    limit, used = _cgroup(membership, cgroups)
    free = sizes.get("MemAvailable")
    bounds = [size for size in (free, _left(limit, used)) if size is not None]
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    shm_free, shm_size = space(shm)
    return Host(
        sizes.get("MemTotal"),
        limit,
        min(bounds) if bounds else None,
        shm_free,
        shm_size,
        UNLIMITED if soft == resource.RLIM_INFINITY else soft,
    )


def space(path: Path) -> tuple[int, int] | tuple[None, None]:
    """Bytes that are free for this user, and bytes in all, of the file system of ``path``."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None, None
    return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def _meminfo(path: Path) -> dict[str, int]:
    sizes = {}
    with contextlib.suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            words = value.split()
            if len(words) == 2 and words[0].isdigit():
                sizes[name] = int(words[0]) * 1024
    return sizes


def _left(limit: int | None, used: int | None) -> int | None:
    return None if limit is None else max(0, limit - (used or 0))


def _cgroup(membership: Path, root: Path) -> tuple[int | None, int | None]:
    """The smallest limit of the groups that this process is in, and what is used of it.

    Used is without the page cache, which gives way.
    """
    try:
        lines = membership.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None, None
    best: tuple[int | None, int | None] = (None, None)
    for line in lines:
        _number, controllers, group = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            found = _groups(root, group, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            found = _groups(root / "memory", group, *names)
        else:
            continue
        for limit, used in found:
            if best[0] is None or limit < best[0]:
                best = (limit, used)
    return best


def _groups(
    root: Path, group: str, limit_file: str, used_file: str, cache: str
) -> Iterable[tuple[int, int | None]]:
    path = root / group.lstrip("/")
    # In a container the file system shows the container's group as its root.
    places = [path, *path.parents] if path.is_relative_to(root) else [root]
    for place in places:
        limit = _number(place / limit_file)
        if limit is not None and limit < _NO_LIMIT:
            used = _number(place / used_file)
            gives_way = _statistic(place / "memory.stat", cache)
            yield limit, None if used is None else max(0, used - gives_way)
        if place == root:
            return


def _number(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text().strip())
    return None


def _statistic(path: Path, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == [name]:
                return int(words[1])
    return 0
