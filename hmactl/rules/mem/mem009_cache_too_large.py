"""The weights and a KV cache of the given size are larger than the GPU.

What: `kv-cache-memory-bytes` and `num-gpu-blocks-override` fix the size of the KV cache without
regard to `gpu-memory-utilization` and without measuring what is left. With the weights it is more
than the GPU has, before activations.

Why: the engine ends out of memory when it allocates the KV cache.

Failing example: Llama 3.1 8B in bf16 with `kv-cache-memory-bytes: 70G` on an 80 GB GPU.

Passing example: the same with `kv-cache-memory-bytes: 50G`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.memory import block_bytes
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.plans import chosen_plan

ID = "MEM009"
SEVERITY = Severity.ERROR

_BLOCKS = "num-gpu-blocks-override"
_BYTES = "kv-cache-memory-bytes"


def check(case: Case) -> Iterator[Finding]:
    """One finding where the weights of the largest rank leave less than the KV cache is given."""
    gpu, weights = case.facts.gpu, case.facts.answer.weights
    given = _given(case)
    if gpu is None or not weights or given is None or max(weights) > gpu.usable_memory:
        return
    flag, size = given
    left = gpu.usable_memory - max(weights)
    if size <= left:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{flag}` makes a KV cache of {format_gib(size)} per GPU, and {gpu.name} has "
        f"{format_gib(left)} beside {format_gib(max(weights))} of weights",
        "vLLM ends out of memory when it allocates the KV cache",
        f"well below {format_gib(left)}: activations and CUDA itself need memory too",
        case.flag_origin(flag),
    )


def _given(case: Case) -> tuple[str, int] | None:
    """The flag that fixes the KV cache's size, and that size in bytes."""
    config, plan = case.facts.answer.config, chosen_plan(case)
    if config is None:
        return None
    if config.num_gpu_blocks_override is not None and plan is not None and plan.groups:
        blocks = config.num_gpu_blocks_override
        return _BLOCKS, blocks * max(map(block_bytes, plan.groups))
    if config.kv_cache_memory_bytes is not None:
        return _BYTES, config.kv_cache_memory_bytes
    return None
