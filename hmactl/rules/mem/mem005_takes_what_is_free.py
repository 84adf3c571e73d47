"""LMCache takes less memory than it is given, because the host has less.

What: for a model with MLA, LMCache compares the size of its store with the memory that the host has
free when it starts, and takes what is free, less `reserve_local_cpu_size` (0 unless set). The size
exceeds `target.host_memory`, or `target.memory_limit` of the container where that is less.

Why: LMCache takes everything that the host has left, and the first process that needs more is ended
by the kernel. A container's limit it does not see at all: the container is ended.

Failing example: DeepSeek V3 with `max_local_cpu_size: 600` and `host_memory: 512 GiB`.

Passing example: the same with `max_local_cpu_size: 300`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.lmcache_memory import host_memory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import origin_of

ID = "MEM005"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where a store that adapts to the host is larger than what there is."""
    memory, bound = host_memory(case.facts), case.facts.deployment.target.memory_bound
    if memory is None or bound is None or not memory.takes_what_is_free:
        return
    who, limit = bound
    if memory.total <= limit:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache is given {format_gib(memory.total)} of host memory for a model with MLA, and "
        f"{who} has {format_gib(limit)}",
        "it takes all that the host has free instead, whatever a container may use, and leaves "
        "nothing to vLLM: the kernel ends what needs more",
        f"`max_local_cpu_size` well below {limit / len(memory.sizes) / 2**30:.1f}, or "
        "`reserve_local_cpu_size` for what all else needs",
        origin_of(case, "max_local_cpu_size"),
    )
