"""How many bytes are there for the KV cache: given, or estimated from what the engine told."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hmactl.catalogue.gpus import Gpu
from hmactl.engine.answer import EngineConfig

# Memory that CUDA and its libraries take outside of PyTorch before anything runs: 0.07 to 0.13 GiB
# on one GPU, 0.55 GiB with two (memory tables that users posted for H100; see docs/memory.md).
_NON_TORCH = 0.13 * 2**30
_NON_TORCH_PARALLEL = 0.55 * 2**30
# Bytes per logit while a batch is profiled: bf16 logits, their float32 copy and the sampler's.
_BYTES_PER_LOGIT = 10
_ACTIVATION_BYTES = 2


class MemoryOrigin(StrEnum):
    """given: the operator or the configuration says it exactly. estimated: by this module."""

    GIVEN = "given"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class KvMemory:
    """KV cache memory per rank in bytes.

    An estimate is a range: ``bytes_per_rank`` is what would be left if the engine's activations
    took nothing, and ``low`` what is left after a generous allowance for them. Given memory has
    ``low`` equal to ``bytes_per_rank``.
    """

    bytes_per_rank: tuple[int, ...]
    low: tuple[int, ...]
    origin: MemoryOrigin
    total: int | None = None
    weights: tuple[int, ...] = ()

    @property
    def smallest(self) -> int:
        """The rank that decides."""
        return min(self.bytes_per_rank)

    @property
    def smallest_low(self) -> int:
        """The same at the low end of the range."""
        return min(self.low)


def kv_memory(
    given: int | None,
    config: EngineConfig,
    weights: Sequence[int],
    gpu: Gpu | None,
    host_memory: int,
) -> KvMemory:
    """The KV cache memory of each rank (pipeline stage).

    ``given`` is the operator's figure per GPU. ``host_memory`` is this machine's, for the plain
    CPU platform, whose KV cache lives there.
    """
    exact = given if given is not None else config.kv_cache_memory_bytes
    if exact is not None:
        each = (exact,) * len(weights)
        return KvMemory(each, each, MemoryOrigin.GIVEN)
    total = host_memory if gpu is None else gpu.usable_memory
    budget = config.gpu_memory_utilization * total
    parallel = config.tensor_parallel_size * config.pipeline_parallel_size > 1
    non_torch = _NON_TORCH_PARALLEL if parallel else _NON_TORCH
    high = tuple(max(0, int(budget - weight - non_torch)) for weight in weights)
    activations = _activations(config)
    low = tuple(max(0, int(left - activations)) for left in high)
    return KvMemory(high, low, MemoryOrigin.ESTIMATED, total, tuple(weights))


def _activations(config: EngineConfig) -> float:
    """A generous peak of one profiled batch: the widest layer's activations, or the logits."""
    hidden = config.hidden_size or 0
    widest = 3 * (config.intermediate_size or 4 * hidden) / config.tensor_parallel_size
    tokens = config.max_num_batched_tokens
    layers = tokens * (widest + 4 * hidden) * _ACTIVATION_BYTES
    logits = min(config.max_num_seqs, tokens) * config.vocab_size * _BYTES_PER_LOGIT
    return layers + logits
