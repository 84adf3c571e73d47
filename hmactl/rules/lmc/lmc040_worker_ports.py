"""The controller needs a port for each of LMCache's workers.

What: with `enable_controller` each rank (with MLA only the first) starts a worker of LMCache, and
takes the port of its place in `lmcache_worker_ports`.

Why: the ranks without a port end with "lmcache_worker_ports must have at least N port(s)", and
LMCache with them; the server goes on without it.

Failing example: `tensor-parallel-size: 2` with `lmcache_worker_ports: [8500]`.

Passing example: `lmcache_worker_ports: [8500, 8501]`.

Source: `LMCacheWorker.__init__` in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC040"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the list is shorter than the ranks that start a worker."""
    settings, answer = in_process_settings(case), case.facts.answer
    if settings is None or answer.config is None or not settings.values.get("enable_controller"):
        return
    ports, ids = (settings.values.get(f"lmcache_worker_{name}") for name in ("ports", "ids"))
    if not isinstance(ports, list) or not ports or not answer.layers:
        return
    mla = any("MLA" in kind.spec for stage in answer.layers for kind in stage)
    world = answer.config.tensor_parallel_size * answer.config.pipeline_parallel_size
    needed = len(ids) if isinstance(ids, list) and ids else 1 if mla else world
    if len(ports) >= needed:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{as_written(case, 'lmcache_worker_ports')} is {len(ports)} of the {needed} ports that "
        "LMCache's workers need",
        "LMCache fails to initialise on the others and the server goes on without it",
        f"`lmcache_worker_ports` with {needed} ports",
        origin_of(case, "lmcache_worker_ports"),
    )
