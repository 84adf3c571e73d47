"""This machine's memory and limits, as this process may use them."""

import contextlib
import os
import resource
from dataclasses import dataclass
from pathlib import Path

from hmactl.deployment.deployment import UNLIMITED
from hmactl.launch.cgroup import MEMBERSHIP, ROOT, memory_groups


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
    membership: Path = MEMBERSHIP,
    cgroups: Path = ROOT,
    shm: Path = Path("/dev/shm"),  # noqa: S108 - it is the one that processes share memory in
) -> Host:
    """What this process finds; the paths are for tests."""
    sizes = _meminfo(meminfo)
    groups = list(memory_groups(membership, cgroups))
    limits = [group.limit for group in groups if group.limit is not None]
    left = [group.left for group in groups if group.left is not None]
    free = sizes.get("MemAvailable")
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    shm_free, shm_size = space(shm)
    return Host(
        sizes.get("MemTotal"),
        min(limits, default=None),
        min([*left, *([] if free is None else [free])], default=None),
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
