"""LMCache stores nowhere.

What: `local_cpu: false` makes LMCache's host memory a mere buffer, and no other place to store is
set: no disk, no remote store, no other server.

Why: LMCache copies the keys and values to host memory and drops them. Nothing is ever found, and it
says nothing about it.

Failing example: `lmcache: {local_cpu: false}`.

Passing example: `lmcache: {local_cpu: false, remote_url: "lm://cache:65432"}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import (
    in_process_settings,
    may_be_set,
    number,
    other_tiers,
    written,
)
from hmactl.rules.lmc.lmc008_read_as_false import says_no

ID = "LMC015"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where host memory was switched off plainly, and there is nothing else."""
    settings, setting = in_process_settings(case), written(case, "local_cpu")
    if settings is None or setting is None or not says_no(setting.value):
        return
    if settings.values.get("local_cpu") is not False or other_tiers(settings):
        return
    if not number(settings, "max_local_cpu_size"):
        return  # then it does not even start, which another rule says
    if may_be_set(case, "local_disk", "remote_url", "remote_storage_plugins", "extra_config"):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache stores nowhere: `{setting.name}` is off, and no disk or remote store is set",
        "nothing is ever found, and LMCache says nothing about it",
        "`local_cpu: true`, or a disk or remote store",
        setting.origin,
    )
