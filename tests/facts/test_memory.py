"""The estimate against what servers logged: the rows of docs/memory.md."""

from dataclasses import replace

import pytest

from hmactl.catalogue.gpus import find_gpu
from hmactl.engine.answer import EngineConfig
from hmactl.facts.memory import MemoryOrigin, kv_memory

GIB = 2**30
# hidden, intermediate, vocabulary, experts per token: the models' config.json
SHAPES = {
    "qwen3-14b": (5120, 17408, 151936, None),
    "llama-8b": (4096, 14336, 128256, None),
    "gpt-oss": (2880, 2880, 201088, 4),
    "qwen2-7b": (3584, 18944, 152064, None),
    "llama-70b": (8192, 28672, 128256, None),
    "qwen3-30b": (2048, 6144, 151936, 8),
    "qwen3.5-35b": (2048, 512, 248320, 8),
    "gemma-4-26b": (2816, 2112, 262144, None),
}
# model, GPU, TP, utilisation, batched tokens, sequences, weights GiB, logged GiB
LOGGED = [
    ("qwen3-14b", "RTX 3090", 1, 0.86, 2048, 32, 15.3291, 4.64),
    ("llama-8b", "RTX 3090", 1, 0.95, 2048, 64, 14.9889, 6.95),
    ("llama-8b", "RTX 4090", 1, 0.95, 2048, 64, 14.9889, 6.93),
    ("llama-8b", "RTX 5090", 1, 0.95, 2048, 64, 14.9889, 14.31),
    ("gpt-oss", "RTX 5090", 1, 0.95, 2048, 64, 13.7194, 15.37),
    ("llama-8b", "RTX 5000 Ada", 1, 0.95, 2048, 64, 14.9889, 14.46),
    ("gpt-oss", "RTX 5000 Ada", 1, 0.95, 2048, 64, 13.7194, 15.51),
    ("qwen2-7b", "A100-80GB", 2, 0.5, 2048, 256, 7.1217, 31.83),
    ("gpt-oss", "A100-80GB", 4, 0.8, 2048, 256, 17.2217, 45.32),
    ("gpt-oss", "H100-80GB", 1, 0.9, 8192, 1024, 13.47, 50.28),
    ("llama-70b", "H100-80GB", 2, 0.9, 8192, 1024, 33.88, 32.00),
    ("qwen3-30b", "RTX 3090", 1, 0.9, 2048, 64, 15.6116, 5.08),
    ("gpt-oss", "RTX 3090", 1, 0.9, 2048, 32, 13.7194, 7.12),
    ("qwen3-30b", "RTX 4090", 1, 0.9, 2048, 64, 15.6116, 5.07),
    ("qwen3-30b", "RTX 5090", 1, 0.9, 2048, 64, 15.6117, 12.06),
    ("qwen3-14b", "A100-40GB", 1, 0.9, 2048, 64, 15.3291, 19.60),
    ("gpt-oss", "A100-40GB", 1, 0.9, 2048, 64, 13.7025, 21.09),
    ("qwen3-14b", "RTX 5000 Ada", 1, 0.9, 2048, 64, 15.3388, 12.31),
    ("gemma-4-26b", "GB10", 1, 0.8, 4096, 1024, 48.50, 44.03),
    ("qwen3.5-35b", "GB10", 1, 0.95, 8192, 1024, 64.69, 47.55),
    ("qwen3.5-35b", "GB10", 1, 0.95, 8192, 1024, 65.53, 44.47),
    ("gpt-oss", "A100-80GB", 1, 0.65, 2048, 256, 13.72, 36.56),
    ("gemma-4-26b", "A100-80GB", 1, 0.9, 2048, 256, 48.50, 21.50),
]


def _config(
    shape: str, tp: int, utilisation: float, tokens: int, seqs: int, exact: int | None = None
) -> EngineConfig:
    hidden, intermediate, vocabulary, experts = SHAPES[shape]
    return EngineConfig(
        architectures=("X",),
        block_size=16,
        cache_dtype="auto",
        data_parallel_size=1,
        dtype="bfloat16",
        enable_prefix_caching=True,
        enforce_eager=True,
        experts_per_token=experts,
        gpu_memory_utilization=utilisation,
        hidden_size=hidden,
        intermediate_size=intermediate,
        kv_cache_memory_bytes=exact,
        mamba_cache_mode=None,
        max_model_len=4096,
        max_num_batched_tokens=tokens,
        max_num_seqs=seqs,
        multimodal=False,
        num_gpu_blocks_override=None,
        pipeline_parallel_size=1,
        quantization=None,
        tensor_parallel_size=tp,
        vocab_size=vocabulary,
    )


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row[0]}-{row[1]}")
def test_what_was_logged_lies_in_the_range(
    row: tuple[str, str, int, float, int, int, float, float],
) -> None:
    shape, gpu, tp, utilisation, tokens, seqs, weights, logged = row
    config = _config(shape, tp, utilisation, tokens, seqs)
    memory = kv_memory(None, config, [int(weights * GIB)], find_gpu(gpu), 0)
    assert memory.origin is MemoryOrigin.ESTIMATED
    # Three rows lie up to 1.1% below; the range itself is 2% to 17% wide.
    assert memory.smallest_low * 0.989 <= logged * GIB <= memory.smallest
    assert memory.smallest_low > 0.83 * memory.smallest


def test_graphs_widen_the_range_where_the_engine_reserves_them() -> None:
    config = _config("llama-8b", 1, 0.9, 2048, 64)
    plain = kv_memory(None, config, [15 * GIB], find_gpu("H100-80GB"), 0)
    reserving = replace(config, graph_memory_reserved=True)
    memory = kv_memory(None, reserving, [15 * GIB], find_gpu("H100-80GB"), 0)
    assert memory.smallest == plain.smallest
    assert memory.smallest_low == plain.smallest_low - memory.graphs
    # What five logs of the estimate have that was not looked at for the constant.
    assert all(logged * GIB <= memory.graphs for logged in (-0.9, -0.07, 0.17, 0.37, 0.91))
    # The plain CPU platform has no graphs.
    assert kv_memory(None, reserving, [GIB], None, 64 * GIB).graphs == 0


def test_given_memory_is_exact() -> None:
    config = _config("llama-8b", 1, 0.9, 8192, 256)
    memory = kv_memory(7 * GIB, config, [GIB, GIB], find_gpu("L4"), 0)
    assert memory.bytes_per_rank == (7 * GIB, 7 * GIB)
    assert memory.smallest_low == memory.smallest
    assert memory.origin is MemoryOrigin.GIVEN


def test_vllms_own_figure_is_exact() -> None:
    config = _config("llama-8b", 1, 0.9, 8192, 256, exact=5 * GIB)
    assert kv_memory(None, config, [GIB], find_gpu("L4"), 0).bytes_per_rank == (5 * GIB,)
    assert kv_memory(2 * GIB, config, [GIB], find_gpu("L4"), 0).bytes_per_rank == (2 * GIB,)


def test_weights_that_leave_nothing() -> None:
    config = _config("llama-8b", 1, 0.5, 8192, 256)
    memory = kv_memory(None, config, [60 * GIB], find_gpu("L4"), 0)
    assert (memory.smallest, memory.smallest_low) == (0, 0)


def test_the_largest_stage_decides() -> None:
    config = _config("llama-8b", 1, 0.9, 2048, 64)
    memory = kv_memory(None, config, [4 * GIB, 6 * GIB], find_gpu("L4"), 0)
    assert memory.smallest == memory.bytes_per_rank[1] < memory.bytes_per_rank[0]
