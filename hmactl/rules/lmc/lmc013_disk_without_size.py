"""LMCache's disk has no size.

What: `local_disk` names a directory, but `max_local_disk_size` (GiB per worker) is zero, which is
its default.

Why: LMCache then makes no disk store, and says nothing about it.

Failing example: `lmcache: {local_disk: /mnt/nvme}`.

Passing example: `lmcache: {local_disk: /mnt/nvme, max_local_disk_size: 500}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, number, origin_of

ID = "LMC013"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where a directory is named and no size."""
    if (settings := in_process_settings(case)) is None or not settings.values.get("local_disk"):
        return
    size = number(settings, "max_local_disk_size")
    if size is None or size > 0:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache does not use the disk: {as_written(case, 'max_local_disk_size')}",
        "nothing is stored there, and LMCache says nothing about it",
        "`max_local_disk_size` in GiB; every worker takes that much for itself",
        origin_of(case, "local_disk"),
    )
