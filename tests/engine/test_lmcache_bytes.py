"""The bytes that hmactl says LMCache stores, against what the installed LMCache computes itself.

LMCache and its torch are loaded in processes of their own, as each of these scripts.
"""

import json
import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest
from conftest import reports
from installed import VERSIONS

from hmactl.engine.answer import Answer, EngineConfig, LayerKind
from hmactl.engine.decode import decode
from hmactl.facts.lmcache_memory import layers_bytes_per_token, server_chunk_bytes, whole_chunks

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

# Each kind of layer as a vLLM spec with the tensor that it gets, grouped as vLLM would; answers
# LMCache's own sum over its kernel groups, and hmactl's description of the layers.
GROUPS = """
import json, types, torch
from lmcache.integration.vllm.kv_cache_groups import create_engine_group_infos_from_vllm
from lmcache.utils import EngineType
from lmcache.v1.gpu_connector.utils import normalize_and_discover_per_layer_formats
from lmcache.v1.kv_layer_groups import KVLayerGroupsManager
from lmcache.v1.multiprocess.group_view import engine_group_layer_indices
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec, KVCacheGroupSpec, MLAAttentionSpec, SlidingWindowSpec,
)
from hmactl.engine.dryboot.model import describe_layers

def attention(kind, heads, size, dtype=torch.bfloat16, **more):
    spec = kind(block_size=16, num_kv_heads=heads, head_size=size, dtype=dtype, **more)
    shape = (4, 16, size) if kind is MLAAttentionSpec else (2, 4, 16, heads, size)
    return spec, torch.zeros(shape, dtype=dtype)

full = attention(FullAttentionSpec, 2, 64)
wide = attention(FullAttentionSpec, 4, 128)
short = attention(SlidingWindowSpec, 2, 64, sliding_window=128)
long = attention(SlidingWindowSpec, 2, 64, sliding_window=1024)
single = attention(FullAttentionSpec, 1, 64, dtype=torch.float32)
mla = attention(MLAAttentionSpec, 1, 576)
models = {
    "full": [[full] * 3],
    "fp32": [[single] * 2],
    "short-window": [[full], [short] * 3],
    "long-window": [[full], [long] * 2],
    "two-widths": [[full] * 2, [wide]],
    "mla": [[mla] * 2],
}
answers = {}
for name, groups in models.items():
    specs, tensors, planned = {}, {}, []
    for group in groups:
        names = [f"model.layers.{len(specs) + i}" for i in range(len(group))]
        for layer, (spec, tensor) in zip(names, group):
            specs[layer], tensors[layer] = spec, tensor.clone()
        planned.append(KVCacheGroupSpec(names, group[0][0]))
    config = types.SimpleNamespace(kv_cache_groups=planned)
    infos = create_engine_group_infos_from_vllm(config, tensors, None)
    caches, formats = normalize_and_discover_per_layer_formats(
        list(tensors.values()), engine_group_layer_indices(infos), EngineType.VLLM, None
    )
    manager = KVLayerGroupsManager(
        caches, engine_kv_formats=formats, engine_group_infos=infos, lmcache_tokens_per_chunk=256
    )
    stored = sum(
        group.shape_desc.kv_size * group.num_layers * manager.get_slots_per_chunk_in_sw(index)
        * group.hidden_dim_size * group.dtype.itemsize
        for index, group in enumerate(manager.kernel_groups)
    )
    answers[name] = {"stored": stored, "layers": describe_layers(specs)}
print(json.dumps(answers))
"""

# How many chunks of some sizes LMCache's own allocator gives out of a store of 64 MiB.
ALLOCATOR = """
import json, torch
from lmcache.v1.memory_allocators.mixed_memory_allocator import MixedMemoryAllocator
from lmcache.v1.memory_management import MemoryFormat
answers = {}
for size in (1000, 4096, 5000, 1 << 20, 1_500_000, 3 << 20):
    allocator = MixedMemoryAllocator(64 << 20)
    held = []
    while (chunk := allocator.allocate(torch.Size([size]), torch.uint8, MemoryFormat.KV_2LTD)):
        held.append(chunk)
    answers[size] = len(held)
print(json.dumps(answers))
"""


def _run(script: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def _answer(layers: list[dict[str, Any]]) -> Answer:
    """An answer with these layers and one worker; what else it has does not matter here."""
    config: dict[str, Any] = {field.name: None for field in fields(EngineConfig)}
    config |= {"tensor_parallel_size": 1, "pipeline_parallel_size": 1}
    return Answer(
        error=None,
        versions=VERSIONS,
        layers=(tuple(decode(LayerKind, layer) for layer in layers),),
        config=EngineConfig(**config),
    )


@pytest.fixture(scope="module")
def groups() -> dict[str, Any]:
    answers: dict[str, Any] = _run(GROUPS)
    return answers


@pytest.mark.parametrize(
    "name", ["full", "fp32", "short-window", "long-window", "two-widths", "mla"]
)
def test_a_chunk_in_the_server(groups: dict[str, Any], name: str) -> None:
    answer = _answer(groups[name]["layers"])
    assert server_chunk_bytes(answer, 256, windows=True) == groups[name]["stored"]


def test_a_window_shorter_than_a_chunk_saves_something(groups: dict[str, Any]) -> None:
    answer = _answer(groups["short-window"]["layers"])
    full = server_chunk_bytes(answer, 256, windows=False)
    # one full layer of 256 tokens and three of 128, against four of 256
    assert full is not None
    assert groups["short-window"]["stored"] / full == (256 + 3 * 128) / (4 * 256)


def test_how_many_chunks_fit() -> None:
    for size, count in _run(ALLOCATOR).items():
        assert whole_chunks(64 << 20, int(size)) == count


# Architectures of all the shapes that LMCache in the process has to do with: the sum over vLLM's
# layers, which is used where LMCache cannot be asked, is what LMCache's own metadata says.
MODELS = {
    "google/gemma-3-4b-it": (1, 34 * 2 * 4 * 256 * 2),
    "meta-llama/Llama-3.1-8B-Instruct": (2, 32 * 2 * 8 * 128 * 2 // 2),
    "openai/gpt-oss-20b": (1, 24 * 2 * 8 * 64 * 2),
    "deepseek-ai/DeepSeek-V3": (8, 61 * 576 * 2),
}


def test_a_token_in_the_process(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("bytes")
    documents = [
        f"name: {name}\nmodel: {name}\nconnector: LMCacheConnectorV1\n"
        f"vllm: {{tensor-parallel-size: {ranks}, max-model-len: 4096}}\n"
        "target: {gpu: H200, gpus: 8, kv_cache_memory: 40 GiB}\n"
        for name, (ranks, _bytes) in MODELS.items()
    ]
    reported = reports(directory, "---\n".join(documents))
    for name, (_ranks, expected) in MODELS.items():
        (section,) = [
            s for s in reported[name]["memory"] if s["title"] == "LMCache in a vLLM worker"
        ]
        lines = {line["name"]: line for line in section["lines"]}
        assert "LMCache's own metadata" in lines["chunk"]["how"]
        assert lines["token"]["value"] == expected
        assert layers_bytes_per_token(_answer(reported[name]["plan"]["layers"])) == expected
