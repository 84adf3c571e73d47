"""Two servers have the same directory for LMCache's disk.

What: each LMCache keeps the list of what is in its directory in memory, and deletes what it has to.
The directory is no store that servers share.

Why: no server finds what another has stored. They write the same names into it, and each deletes
files that the other still counts on.

Failing example: two documents of one call with `lmcache: {local_disk: /mnt/nvme, ...}`, both for
this host.

Passing example: `/mnt/nvme/a` and `/mnt/nvme/b`, or a remote store.

Source: `LocalDiskBackend` in LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/1799.

Since: 0.1.0.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, number, origin_of

ID = "LMC036"
SEVERITY = Severity.WARNING


def check_together(cases: Sequence[Case]) -> Iterator[tuple[Case, Finding]]:
    """One finding at the second of two servers that use the same directory."""
    storing = [(case, _directories(case)) for case in cases]
    storing = [(case, directories) for case, directories in storing if directories]
    for (first, theirs), (second, ours) in combinations(storing, 2):
        shared = sorted(theirs & ours)
        if not shared:
            continue
        finding = Finding(
            ID,
            SEVERITY,
            f"`local_disk` {shared[0]} is also that of {first.facts.deployment.name}",
            "on one host, or one network file system, each deletes what the other counts on",
            "a directory for each server, or a remote store for both",
            origin_of(second, "local_disk"),
        )
        yield second, finding


def _directories(case: Case) -> set[str]:
    settings = in_process_settings(case)
    if settings is None or not (number(settings, "max_local_disk_size") or 0) > 0:
        return set()
    value = settings.values.get("local_disk")
    parts = value.split(",") if isinstance(value, str) else []
    return {part.rstrip("/") for part in parts if part.startswith("/")}
