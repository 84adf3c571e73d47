"""The LMCache server's memory is more than the host has.

What: `lmcache server` takes `l1-size-gb` times 1024 to the power of 3 bytes of host memory, once
for all vLLM workers that it serves, unless its L1 is a file (`gds-l1-path`, `l1-devdax-path`). The
limit is `target.host_memory`, or `target.memory_limit` of the container where that is less. Of a
server that a manifest or a compose file starts in a container of its own, that container's counts.

Why: the server fails to allocate it, or the kernel ends the server as it fills.

Failing example: `l1-size-gb: 300` with `host_memory: 256 GiB`.

Passing example: `l1-size-gb: 60` with the same.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.lmcache_memory import server_is_here, server_memory, server_option
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMS007"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the server's memory exceeds what there is."""
    bound, size = case.facts.deployment.server_memory_bound, server_memory(case.facts)
    setting = server_option(case.facts, "l1-size-gb")
    if bound is None or size is None or setting is None or not server_is_here(case.facts):
        return
    who, limit = bound
    if size <= limit:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"the LMCache server takes {size / 2**30:g} GiB of host memory, and {who} has "
        f"{format_gib(limit)}",
        "the server fails to allocate it, or the kernel ends it as it fills",
        f"`l1-size-gb` well below {limit / 2**30:.1f}: vLLM needs host memory too",
        setting.origin,
    )
