"""LMCache's host memory is more than the host has.

What: each vLLM worker allocates `max_local_cpu_size` GiB (5 unless set) of host memory for itself
when it starts, so a host needs as many times that as it has workers: tensor parallel size times
pipeline parallel size. LMCache calls the unit GB and multiplies with 1024 to the power of 3.

Why: the allocation fails and LMCache goes on without a cache while the server answers as if nothing
had happened, or the kernel ends the server.

Failing example: `max_local_cpu_size: 50` with `tensor-parallel-size: 4` and `host_memory: 128 GiB`.

Passing example: `max_local_cpu_size: 20` with the same.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import (
    in_process_settings,
    number,
    origin_of,
    ranks_on_one_host,
)

ID = "LMC010"
SEVERITY = Severity.ERROR

_GIB = 2**30


def check(case: Case) -> Iterator[Finding]:
    """One finding where the workers of one host want more than `target.host_memory`."""
    settings, config = in_process_settings(case), case.facts.answer.config
    host = case.facts.deployment.target.host_memory
    if settings is None or host is None or config is None:
        return
    size, ranks = number(settings, "max_local_cpu_size"), ranks_on_one_host(case)
    # Of a model with MLA only the first rank stores, and LMCache adapts the size to the host.
    if size is None or settings.values.get("enable_pd") or _one_rank_stores(case):
        return
    needed = int(size * _GIB) * ranks
    if needed <= host:
        return
    workers = f"{ranks} workers x {size:g} GiB = " if ranks > 1 else ""
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache allocates {workers}{format_gib(needed)} of host memory, and the host has "
        f"{format_gib(host)}",
        "the allocation fails and the server goes on without a cache, or the kernel ends it",
        f"`max_local_cpu_size` well below {host / ranks / _GIB:.1f}: vLLM needs host memory too",
        origin_of(case, "max_local_cpu_size"),
    )


def _one_rank_stores(case: Case) -> bool:
    return any("MLA" in kind.spec for stage in case.facts.answer.layers for kind in stage)
