"""LMCache's host memory is more than the host has.

What: each vLLM worker allocates `max_local_cpu_size` GiB (5 unless set) of host memory for itself
when it starts, so a host needs as many times that as it has workers: tensor parallel size times
pipeline parallel size, times the engines of data parallelism. With MLA all workers have the same
keys and values, and only the first of them stores, unless `save_only_first_rank` or `use_layerwise`
say otherwise. LMCache calls the unit GB and multiplies with 1024 to the power of 3. The limit is
`target.host_memory`, or `target.memory_limit` of the container where that is less.

Why: the allocation fails and LMCache goes on without a cache while the server answers as if nothing
had happened, or the kernel ends the server.

Failing example: `max_local_cpu_size: 50` with `tensor-parallel-size: 4` and `host_memory: 128 GiB`.

Passing example: `max_local_cpu_size: 20` with the same.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.lmcache_memory import host_memory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import origin_of

ID = "LMC010"
SEVERITY = Severity.ERROR

_GIB = 2**30


def check(case: Case) -> Iterator[Finding]:
    """One finding where the workers of one host want more than there is."""
    memory, bound = host_memory(case.facts), case.facts.deployment.target.memory_bound
    if memory is None or bound is None or memory.takes_what_is_free:
        return
    who, limit = bound
    if memory.total <= limit:
        return
    workers, size = len(memory.sizes), memory.sizes[0] / _GIB
    same = len(set(memory.sizes)) == 1
    each = f"{workers} workers x {size:g} GiB = " if workers > 1 and same else ""
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache allocates {each}{format_gib(memory.total)} of host memory, and {who} has "
        f"{format_gib(limit)}",
        "the allocation fails and the server goes on without a cache, or the kernel ends it",
        f"`max_local_cpu_size` well below {limit / workers / _GIB:.1f}: vLLM needs host memory too",
        origin_of(case, "max_local_cpu_size"),
    )
