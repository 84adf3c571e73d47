"""How many bytes are there for the KV cache: given, or estimated from what the engine told."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hmactl.catalogue.gpus import Gpu
from hmactl.engine.answer import EngineConfig, Group

# docs/memory.md has the evidence for these figures, and what they do on points that were not used.
# Memory that CUDA and its libraries take outside of PyTorch before anything runs.
_NON_TORCH = 0.13 * 2**30
_NON_TORCH_PARALLEL = 0.55 * 2**30
# What a vLLM that reserves memory for CUDA graphs takes for them, at most.
_GRAPHS = 0.95 * 2**30
# While a batch is profiled: logits, their float32 copy, and what the sampler sorts.
_BYTES_PER_LOGIT = 32
_ACTIVATION_BYTES = 2


class MemoryOrigin(StrEnum):
    """given: the operator or the configuration says it exactly. estimated: by this module."""

    GIVEN = "given"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class KvMemory:
    """KV cache memory per rank in bytes.

    An estimate is a range: ``bytes_per_rank`` is what would be left if the engine's activations
    took nothing, and they may take up to about ``activations``, with what is reserved for CUDA
    ``graphs``. ``total`` is the memory of which gpu_memory_utilization is a share, ``non_torch``
    what CUDA takes of it for itself, and ``besides`` all that the largest rank needs of it besides
    KV cache. Given memory is exact: no activations, and no total.
    """

    bytes_per_rank: tuple[int, ...]
    origin: MemoryOrigin
    activations: int = 0
    total: int | None = None
    besides: int = 0
    non_torch: int = 0
    graphs: int = 0

    @property
    def smallest(self) -> int:
        """The rank that decides."""
        return min(self.bytes_per_rank)

    @property
    def smallest_low(self) -> int:
        """The same at the low end of the range."""
        return max(0, self.smallest - self.activations)


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
        return KvMemory((exact,) * len(weights), MemoryOrigin.GIVEN)
    total = host_memory if gpu is None else gpu.usable_memory
    budget = config.gpu_memory_utilization * total
    parallel = config.tensor_parallel_size * config.pipeline_parallel_size > 1
    non_torch = _NON_TORCH_PARALLEL if parallel else _NON_TORCH
    # A plain CPU has no graphs; where it is not known, nothing is said to be reserved.
    graphs = _GRAPHS if gpu is not None and config.graph_memory_reserved else 0
    activations = _activations(config) + graphs
    return KvMemory(
        tuple(max(0, int(budget - weight - non_torch)) for weight in weights),
        MemoryOrigin.ESTIMATED,
        int(activations),
        total,
        int(max(weights) + non_torch + activations),
        int(non_torch),
        int(graphs),
    )


def _activations(config: EngineConfig) -> float:
    """The peak of one profiled batch: the widest layer's activations and the sampler's buffers."""
    hidden = config.hidden_size or 0
    experts = config.experts_per_token or 1
    widest = 3 * experts * (config.intermediate_size or 4 * hidden) / config.tensor_parallel_size
    tokens = config.max_num_batched_tokens
    layers = tokens * (widest + 4 * hidden) * _ACTIVATION_BYTES
    logits = min(config.max_num_seqs, tokens) * config.vocab_size * _BYTES_PER_LOGIT
    return layers + logits


def block_bytes(group: Group) -> int:
    """Bytes of one block of all layers of a KV cache group.

    Where its layers differ among themselves, the engine's page is already their sum.
    """
    return group.page_size_bytes * (1 if group.spec == "UniformTypeKVCacheSpecs" else group.layers)
