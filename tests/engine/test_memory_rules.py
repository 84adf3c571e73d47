"""What the rules about memory say, with an installed vLLM and LMCache behind them."""

from typing import Any

import pytest
from conftest import reports

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

LLAMA = "model: meta-llama/Llama-3.1-8B-Instruct\n"
DEEPSEEK = """\
model: deepseek-ai/DeepSeek-V3
vllm: {tensor-parallel-size: 8, max-model-len: 65536, kv-cache-memory-bytes: 40000000000}
connector: LMCacheConnectorV1
env: {PYTHONHASHSEED: "0"}
"""
GEMMA = "model: google/gemma-3-4b-it\n"
V1 = 'connector: LMCacheConnectorV1\nenv: {PYTHONHASHSEED: "0"}\n'
MP = "connector: LMCacheMPConnector\n"
LONG = "vllm: {max-model-len: 131072, kv-cache-memory-bytes: 20000000000}\n"
SHORT = "vllm: {max-model-len: 8192, kv-cache-memory-bytes: 20000000000}\n"

# Llama 3.1 8B keeps 32 layers x 2 x 8 heads x 128 x 2 bytes = 131,072 bytes for a token, so 16 GiB
# hold 131,072 tokens exactly. DeepSeek V3 keeps 61 layers x 576 x 2 bytes = 70,272 bytes: 65,536
# tokens are 4.29 GiB. Weights of Llama: 14.96 GiB in bf16, on an H100 of 79.18 GiB.
# What the profile has, and a part of what each rule says that speaks.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "server-too-short": (
        LLAMA + LONG + MP + "lmcache_server: {l1-size-gb: 15, eviction-policy: LRU}\n",
        {"MEM004": "holds 122,880 tokens (15 GiB at 131,072 bytes per token of all workers)"},
    ),
    "server-long-enough": (
        LLAMA + LONG + MP + "lmcache_server: {l1-size-gb: 16, eviction-policy: LRU}\n",
        {},
    ),
    "server-short-with-l2": (
        LLAMA
        + LONG
        + MP
        + "lmcache_server: {l1-size-gb: 10, eviction-policy: LRU, "
        + """l2-adapter: '{"type": "fs", "base_path": "/mnt/kv"}'}\n""",
        {},
    ),
    # The server keeps all of one worker's 61 layers once: 4 GiB / 70,272 B = 61,120 tokens.
    "server-mla-too-short": (
        DEEPSEEK.replace("V1", "MPConnector").replace("ConnectorMPC", "MPC")
        + "target: {gpu: H200, gpus: 8}\nlmcache_server: {l1-size-gb: 4, eviction-policy: LRU}\n",
        {"MEM004": "at 70,272 bytes per token of all workers"},
    ),
    "server-mla": (
        DEEPSEEK.replace("V1", "MPConnector").replace("ConnectorMPC", "MPC")
        + "target: {gpu: H200, gpus: 8}\nlmcache_server: {l1-size-gb: 5, eviction-policy: LRU}\n",
        {},
    ),
    "server-over-container": (
        LLAMA
        + SHORT
        + MP
        + "lmcache_server: {l1-size-gb: 60, eviction-policy: LRU}\n"
        + "target: {host_memory: 256 GiB, memory_limit: 48Gi}\n",
        {"LMS007": "60 GiB of host memory, and the container has 48.00 GiB"},
    ),
    "server-in-container": (
        LLAMA
        + SHORT
        + MP
        + "lmcache_server: {l1-size-gb: 40, eviction-policy: LRU}\n"
        + "target: {host_memory: 256 GiB, memory_limit: 48Gi}\n",
        {},
    ),
    "mla-not-once": (
        DEEPSEEK
        + "lmcache: {max_local_cpu_size: 100, extra_config: {save_only_first_rank: false}}\n"
        + "target: {gpu: H200, gpus: 8, host_memory: 512 GiB}\n",
        {"LMC010": "8 workers x 100 GiB = 800.00 GiB of host memory, and the host has 512.00 GiB"},
    ),
    "mla-once": (
        DEEPSEEK
        + "lmcache: {max_local_cpu_size: 100}\n"
        + "target: {gpu: H200, gpus: 8, host_memory: 512 GiB}\n",
        {},
    ),
    "mla-takes-all": (
        DEEPSEEK
        + "lmcache: {max_local_cpu_size: 600}\n"
        + "target: {gpu: H200, gpus: 8, host_memory: 512 GiB}\n",
        {"MEM005": "is given 600.00 GiB of host memory for a model with MLA"},
    ),
    "mla-first-rank": (
        DEEPSEEK
        + "lmcache: {max_local_cpu_size: 1, extra_config: {first_rank_max_local_cpu_size: 600}}\n"
        + "target: {gpu: H200, gpus: 8, host_memory: 512 GiB}\n",
        {"MEM005": "is given 600.00 GiB"},
    ),
    "mla-too-short": (
        DEEPSEEK + "lmcache: {max_local_cpu_size: 4}\ntarget: {gpu: H200, gpus: 8}\n",
        {"LMC011": "4 GiB at 70,272 bytes per token"},
    ),
    "mla-long-enough": (
        DEEPSEEK + "lmcache: {max_local_cpu_size: 5}\ntarget: {gpu: H200, gpus: 8}\n",
        {},
    ),
    "workers-over-container": (
        LLAMA
        + SHORT.replace("{", "{tensor-parallel-size: 2, ")
        + V1
        + "lmcache: {max_local_cpu_size: 80}\n"
        + "target: {gpus: 2, memory_limit: 120G}\n",
        {"LMC010": "2 workers x 80 GiB = 160.00 GiB of host memory, and the container has 111.76"},
    ),
    "replicas": (
        LLAMA
        + SHORT.replace("{", "{data-parallel-size: 4, ")
        + V1
        + "lmcache: {max_local_cpu_size: 80}\n"
        + "target: {gpus: 4, host_memory: 256 GiB}\n",
        {"LMC010": "4 workers x 80 GiB = 320.00 GiB"},
    ),
    "replicas-elsewhere": (
        LLAMA
        + SHORT.replace("{", "{data-parallel-size: 4, data-parallel-size-local: 1, ")
        + V1
        + "lmcache: {max_local_cpu_size: 80}\n"
        + "target: {gpus: 1, host_memory: 256 GiB}\n",
        {},
    ),
    "disk-over": (
        LLAMA
        + SHORT.replace("{", "{tensor-parallel-size: 8, ")
        + V1
        + "lmcache: {local_disk: /mnt/kv, max_local_disk_size: 640}\n"
        + "target: {gpus: 8, disk: 5000 GiB}\n",
        {"MEM006": "8 workers x 640 GiB = 5120.00 GiB to `local_disk`, and there are 5000.00 GiB"},
    ),
    "disk": (
        LLAMA
        + SHORT.replace("{", "{tensor-parallel-size: 8, ")
        + V1
        + "lmcache: {local_disk: /mnt/kv, max_local_disk_size: 300}\n"
        + "target: {gpus: 8, disk: 5000 GiB}\n",
        {},
    ),
    "shm-small": (
        LLAMA
        + SHORT
        + MP
        + "lmcache_server: {l1-size-gb: 60, eviction-policy: LRU, shm-name: kv, "
        + "supported-transfer-mode: engine_driven}\ntarget: {shm: 16 GiB}\n",
        {"MEM007": "L1 of 60.00 GiB is to be in /dev/shm, which has 16.00 GiB"},
    ),
    "shm": (
        LLAMA
        + SHORT
        + MP
        + "lmcache_server: {l1-size-gb: 60, eviction-policy: LRU, shm-name: kv, "
        + "supported-transfer-mode: engine_driven}\ntarget: {shm: 64 GiB}\n",
        {},
    ),
    "shm-not-used": (
        LLAMA
        + SHORT
        + MP
        + "lmcache_server: {l1-size-gb: 60, eviction-policy: LRU}\ntarget: {shm: 64 MiB}\n",
        {},
    ),
    "memlock-small": (
        LLAMA
        + SHORT
        + V1
        + "lmcache: {extra_config: {rust_raw_block.io_engine: io_uring}}\n"
        + "target: {memlock: 8 MiB}\n",
        {"MEM008": "registers 5.00 GiB of each worker's memory with io_uring"},
    ),
    "memlock": (
        LLAMA
        + SHORT
        + V1
        + "lmcache: {extra_config: {rust_raw_block.io_engine: io_uring}}\n"
        + "target: {memlock: unlimited}\n",
        {},
    ),
    "memlock-not-needed": (LLAMA + SHORT + V1 + "target: {memlock: 64 KiB}\n", {}),
    "cache-too-large": (
        LLAMA + "vllm: {max-model-len: 8192, kv-cache-memory-bytes: 75161927680}\n",
        {"MEM009": "a KV cache of 70.00 GiB per GPU, and NVIDIA H100 80GB HBM3 has 64."},
    ),
    "cache": (LLAMA + "vllm: {max-model-len: 8192, kv-cache-memory-bytes: 53687091200}\n", {}),
    # 40,000 blocks x 16 tokens x 131,072 bytes = 78.12 GiB; 30,000 are 58.59 GiB
    "blocks-too-many": (
        LLAMA + "vllm: {max-model-len: 8192, num-gpu-blocks-override: 40000}\n",
        {"MEM009": "`num-gpu-blocks-override` makes a KV cache of 78.12 GiB"},
    ),
    "blocks": (LLAMA + "vllm: {max-model-len: 8192, num-gpu-blocks-override: 30000}\n", {}),
    "gemma-5": (
        GEMMA + "vllm: {max-model-len: 75000, kv-cache-memory-bytes: 20000000000}\n" + V1
        + "lmcache: {max_local_cpu_size: 5}\n",
        {"LMC011": "LMCache holds 38,400 tokens"},
    ),
    "gemma-20": (
        GEMMA + "vllm: {max-model-len: 75000, kv-cache-memory-bytes: 20000000000}\n" + V1
        + "lmcache: {max_local_cpu_size: 20}\n",
        {},
    ),
}  # fmt: skip
ABOUT = {"LMC010", "LMC011", "LMS007", *(f"MEM00{n}" for n in range(1, 10))} - {"MEM002"}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All cases in one call, by name."""
    directory = tmp_path_factory.mktemp("memory")
    documents = [f"name: {name}\n{text}" for name, (text, _found) in CASES.items()]
    return reports(directory, "---\n".join(documents))


@pytest.mark.parametrize("name", CASES)
def test_each_case(reported: dict[str, dict[str, Any]], name: str) -> None:
    one = reported[name]
    assert one["failure"] is None
    assert one["plan"] is not None
    found = {finding["id"]: finding for finding in one["findings"] if finding["id"] in ABOUT}
    expected = CASES[name][1]
    assert set(found) == set(expected)
    for rule, said in expected.items():
        assert said in found[rule]["message"]


def _figures(one: dict[str, Any], title: str) -> dict[str, tuple[float, bool]]:
    (section,) = [section for section in one["memory"] if section["title"] == title]
    return {line["name"]: (line["value"], line["estimate"]) for line in section["lines"]}


def test_the_account_of_a_worker(reported: dict[str, dict[str, Any]]) -> None:
    figures = _figures(reported["gemma-20"], "LMCache in a vLLM worker")
    chunk = 256 * 34 * 2 * 4 * 256 * 2
    held = 20 * 2**30 // chunk
    assert figures == {
        "chunk": (chunk, False),
        "token": (chunk / 256, False),
        "store": (20 * 2**30, False),
        "chunks": (held, False),
        "tokens": (held * 256, False),
        "requests": (round(held * 256 / 75000, 2), False),
    }


def test_what_is_given_is_exact(reported: dict[str, dict[str, Any]]) -> None:
    assert _figures(reported["cache"], "GPU memory of one rank")["KV cache"] == (50 * 2**30, False)
    side = _figures(reported["blocks"], "GPU KV cache with HMA on, one rank")
    assert side["blocks"] == (30000, False)
    assert side["KV cache"] == (30000 * 16 * 131072, False)
    assert side["tokens"] == (30000 * 16, False)
    # The memory that is left is still an estimate, and does not matter.
    assert _figures(reported["blocks"], "GPU memory of one rank")["KV cache"][1]


def test_the_account_adds_up(reported: dict[str, dict[str, Any]]) -> None:
    lines = {
        line["name"]: line
        for section in reported["blocks"]["memory"]
        if section["title"] == "GPU memory of one rank"
        for line in section["lines"]
    }
    value = {name: line["value"] for name, line in lines.items()}
    # vLLM 0.32's own default, which hmactl must take from it
    assert value["share"] == pytest.approx(0.92 * value["total"], abs=1)
    left = value["share"] - value["weights"] - value["CUDA's own"]
    assert value["KV cache"] == pytest.approx(left, abs=2)
    low = left - value["activations"] - value["CUDA graphs"]
    assert lines["KV cache"]["low"] == pytest.approx(low, abs=2)


def test_what_to_verify_is_about_this_deployment(reported: dict[str, dict[str, Any]]) -> None:
    def ids(name: str) -> list[str]:
        return [check["id"] for check in reported[name]["to_verify"]]

    assert ids("cache") == ["kv-cache-size"]
    assert ids("blocks") == ["kv-cache-memory"]
    assert ids("gemma-20") == ["kv-cache-size", "lmcache-started", "external-hits"]
    assert ids("mla-once") == [
        *("kv-cache-size", "lmcache-started", "lmcache-memory", "external-hits")
    ]
    assert ids("shm") == [
        *("kv-cache-size", "lmcache-server", "lmcache-server-memory", "external-hits")
    ]
