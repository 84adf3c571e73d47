"""Whether the kernel ended processes for want of memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hmactl.launch.cgroup import MEMBERSHIP, ROOT, memory_groups, statistic

_VMSTAT = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """How many processes the kernel has ended for want of memory: of this container or unit, and of
    the whole machine. None: it does not tell."""

    here: int | None
    machine: int | None

    def since(self, before: "OutOfMemory") -> Literal["container", "machine"] | None:
        """Where it has happened since then; None where nothing is known to have."""
        if _more(self.here, before.here):
            return "container"
        return "machine" if _more(self.machine, before.machine) else None


def out_of_memory(
    membership: Path = MEMBERSHIP, cgroups: Path = ROOT, vmstat: Path = _VMSTAT
) -> OutOfMemory:
    """The counts as they are now; the paths are for tests."""
    killed = (group.killed for group in memory_groups(membership, cgroups))
    # The innermost: those around it have other containers in them, too.
    here = next((count for count in killed if count is not None), None)
    return OutOfMemory(here, statistic(vmstat, "oom_kill"))


def _more(now: int | None, before: int | None) -> bool:
    return now is not None and before is not None and now > before
