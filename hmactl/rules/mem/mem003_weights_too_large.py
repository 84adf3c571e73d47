"""The weights of one rank are larger than the GPU.

What: the model, as this vLLM shards it, has more bytes of weights per GPU than the GPU has memory.

Why: the engine ends out of memory while it loads the weights.

Failing example: Qwen3-Next-80B in bf16 on one H100 80GB.

Passing example: the same with `tensor-parallel-size: 4`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "MEM003"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the largest rank's weights exceed what CUDA gives a process."""
    gpu, weights = case.facts.gpu, case.facts.answer.weights
    if gpu is None or not weights or max(weights) <= gpu.usable_memory:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"the weights need {format_gib(max(weights))} per GPU, and {gpu.name} has "
        f"{format_gib(gpu.usable_memory)}",
        "vLLM ends out of memory while it loads the weights",
        "raise `tensor-parallel-size`, use a quantised checkpoint or a larger GPU",
        case.flag_origin("tensor-parallel-size"),
    )
