"""LMCache may write more to its disk than there is.

What: `max_local_disk_size` GiB is what each worker that stores may write into `local_disk` for
itself, so a host needs as many times that as it has workers. `target.disk`, the filesystem or the
ephemeral storage that a container may use, is less.

Why: once that much is stored, writes fail, and Kubernetes evicts a pod that exceeds its ephemeral
storage. Files of an earlier run stay there and are not counted by LMCache.

Failing example: `max_local_disk_size: 640` with `tensor-parallel-size: 8` and `disk: 5000 GiB`.

Passing example: `max_local_disk_size: 300` with the same.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.lmcache_memory import disk_needed
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import origin_of

ID = "MEM006"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the workers of one host may write more than `target.disk`."""
    needed, disk = disk_needed(case.facts), case.facts.deployment.target.disk
    if needed is None or disk is None or needed[0] * needed[1] <= disk:
        return
    each, workers = needed
    sizes = f"{workers} workers x {each / 2**30:g} GiB = " if workers > 1 else ""
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache may write {sizes}{format_gib(each * workers)} to `local_disk`, and there are "
        f"{format_gib(disk)}",
        "once it has stored that much, writes fail, or the pod is evicted",
        f"`max_local_disk_size` well below {disk / workers / 2**30:.1f}: files of an earlier run "
        "stay there too",
        origin_of(case, "max_local_disk_size"),
    )
