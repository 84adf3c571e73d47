"""LMCache's host memory is a buffer in front of a slower store.

What: with `local_cpu: false` everything that goes to disk or to a remote store passes through
`max_local_cpu_size` GiB of host memory that cannot be evicted: a load waits until a store has
freed some.

Why: where the buffer is smaller than what is moved at the same time, loads wait in a loop ("Local
cpu memory is under pressure"), and with them the engine.

Failing example: `lmcache: {local_cpu: false, local_disk: /mnt/nvme, max_local_disk_size: 500}`.

Passing example: the same with `local_cpu: true`.

Source: `LocalCPUBackend.allocate` in LMCache 0.5.6;
https://github.com/LMCache/LMCache/issues/2942.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, number, written
from hmactl.rules.lmc.lmc008_read_as_false import says_no

ID = "LMC030"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where a disk is behind a buffer that was switched off as a cache."""
    settings, setting = in_process_settings(case), written(case, "local_cpu")
    if settings is None or setting is None or not says_no(setting.value):
        return
    values, size = settings.values, number(settings, "max_local_cpu_size")
    on_disk = values.get("local_disk") and (number(settings, "max_local_disk_size") or 0) > 0
    if values.get("local_cpu") is not False or not on_disk or not size or size <= 0:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{setting.name}` is off: all that goes to disk and back waits for {size:g} GiB of host "
        "memory that nothing evicts",
        "under load the engine waits in a loop for memory",
        "`local_cpu: true`, with which host memory is a cache in front of the disk",
        setting.origin,
    )
