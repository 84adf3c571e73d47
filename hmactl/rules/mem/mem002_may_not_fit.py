"""One request of maximum length may not fit into the KV cache, or does not and vLLM starts.

What: the memory that is left for KV cache is estimated as a range, because the peak of the
engine's activations is only known when it has run. One request of `max-model-len` tokens fits at
the upper end of that range and not at the lower end. Or it does not fit, and the installed vLLM
accepts the plan all the same: some releases (0.12.0 is one) hold the layers against the memory,
and not the groups that they are padded into.

Why: if it does not fit, vLLM ends after it has loaded the weights. Where vLLM starts all the same,
a request that outgrows the KV cache cannot be finished.

Failing example: a `gpu-memory-utilization` that leaves just enough.

Passing example: `kv-cache-memory-bytes`, which is exact, or a larger utilisation.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.engine.answer import Plan
from hmactl.facts.memory import KvMemory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mem.fit import remedies, shortage
from hmactl.rules.plans import chosen_plan

ID = "MEM002"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where one request may not fit, or does not into a plan that vLLM accepts."""
    plan, memory = chosen_plan(case), case.facts.memory
    if plan is None or memory is None or plan.error or plan.bytes_per_request is None:
        return
    if plan.max_concurrency is not None and plan.max_concurrency < 1:
        yield Finding(
            ID,
            SEVERITY,
            f"no request of maximum length fits, and this vLLM accepts that: "
            f"{shortage(case, plan)}",
            f"vLLM plans {plan.max_concurrency:.2f} requests of maximum length and starts; a "
            "request that outgrows the KV cache is preempted or left waiting, and never finishes",
            _shorter(plan) + remedies(case, plan),
            case.flag_origin("max-model-len"),
        )
        return
    if plan.bytes_per_request <= memory.smallest_low:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"may not start: one request of maximum length needs "
        f"{format_gib(plan.bytes_per_request)} of about {format_gib(memory.smallest)} (estimate), "
        f"and {_takes(memory)} may take up to {format_gib(memory.activations)}",
        f"if {_takes(memory)} take more than is to spare, vLLM ends after loading the weights",
        f"{remedies(case, plan)}; or a smaller `max-num-seqs`, which the sampler's share of the "
        "activations is proportional to",
        case.flag_origin("max-model-len"),
    )


def _shorter(plan: Plan) -> str:
    """The length that fits where every layer keeps everything, so that a block is a block."""
    if len(plan.groups) != 1 or plan.tokens is None:
        return ""
    return f"`max-model-len` up to {plan.tokens:,}; or "


def _takes(memory: KvMemory) -> str:
    return "activations and CUDA graphs" if memory.graphs else "activations"
