"""One request of maximum length does not fit into the KV cache.

What: vLLM starts only if a single request of `max-model-len` tokens fits into the memory that is
left for KV cache.

Why: the engine ends after it has loaded the weights and profiled the memory, minutes into the
start. Where the memory is an estimate, this rule speaks only if the request does not fit even if
the engine's activations took nothing.

Failing example: Gemma 3 4B with LMCacheConnectorV1, `max-model-len: 75000` and
`gpu-memory-utilization: 0.18` on an 80 GB GPU.

Passing example: the same with `gpu-memory-utilization: 0.30`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mem import mem003_weights_too_large
from hmactl.rules.mem.fit import engine_words, remedies, shortage
from hmactl.rules.plans import chosen_plan

ID = "MEM001"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the plan that will be used is refused for want of memory."""
    plan = chosen_plan(case)
    if plan is None or plan.error is None or plan.bytes_per_request is None:
        return
    if any(mem003_weights_too_large.check(case)):
        return  # there is no KV cache memory at all
    words = engine_words(plan)
    yield Finding(
        ID,
        SEVERITY,
        f"does not start: {shortage(case, plan)}",
        "vLLM ends after loading the weights and profiling the memory"
        + ("" if words is None else f", and says: {words}"),
        remedies(case, plan),
        case.flag_origin("max-model-len"),
    )
