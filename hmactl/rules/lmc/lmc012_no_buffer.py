"""LMCache has no host memory at all.

What: `max_local_cpu_size` is zero or less. LMCache moves everything through a buffer in host
memory, whatever else it stores to; `local_cpu: false` only keeps it from being a cache.

Why: LMCache fails to initialise (KeyError 'LocalCPUBackend', or an assertion where there is a disk
or remote store) and the server goes on without it.

Failing example: `lmcache: {local_cpu: false, max_local_cpu_size: 0, remote_url: "lm://host:65432"}`.

Passing example: the same with `max_local_cpu_size: 5`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, number, origin_of

ID = "LMC012"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where no buffer is made and no backend brings its own."""
    if (settings := in_process_settings(case)) is None:
        return
    size = number(settings, "max_local_cpu_size")
    # What hangs on a version that is not known is not among the values.
    unknown = case.facts.answer.versions.lmcache is None
    own = any(
        settings.values.get(key, unknown) for key in ("enable_pd", "enable_nixl", "maru_path")
    )
    if size is None or size > 0 or own:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache has no host memory to work with: {as_written(case, 'max_local_cpu_size')}",
        "LMCache fails to initialise and the server goes on without it",
        "give it some GiB, such as `max_local_cpu_size: 5`; `local_cpu: false` keeps it a buffer",
        origin_of(case, "max_local_cpu_size"),
    )
