"""What the rules say about LMCache's settings, with an installed LMCache behind them."""

from typing import Any

import pytest
from conftest import reports

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

LLAMA = """\
name: {name}
model: meta-llama/Llama-3.1-8B-Instruct
vllm: {{max-model-len: 32768, tensor-parallel-size: {ranks}}}
target: {{host_memory: 64 GiB, gpu: {gpu}}}
"""
SEED = 'env: {PYTHONHASHSEED: "0"}\n'
V1 = "connector: LMCacheConnectorV1\n"
MP = "connector: {{name: LMCacheMPConnector, extra_config: {{{}}}}}\nlmcache_server: {{{}}}\n"

# What is written after the model, how many GPUs, the rules of this family that speak, and a part
# of what each says. Llama 3.1 8B keeps 32 layers x 2 x 8 heads x 128 x 2 bytes = 131,072 bytes for
# a token: 5 GiB hold 40,960 tokens, 3 GiB 24,576, and two GPUs have half of the bytes each.
CASES: dict[str, tuple[str, int, dict[str, str]]] = {
    "plain": (V1, 1, {}),
    "misspelt": (V1 + 'env: {LMCACHE_CHUNKSIZE: "64"}\n', 1, {"LMC005": "`LMCACHE_CHUNKSIZE`"}),
    "wrong-prefix": (V1 + 'env: {LM_CACHE_CHUNK_SIZE: "64"}\n', 1, {"LMC005": "LM_CACHE_CHUNK"}),
    "doubled-prefix": (
        V1 + 'env: {LMCACHE_LMCACHE_CHUNK_SIZE: "64"}\n',
        1,
        {"LMC005": "LMCACHE_LMCACHE_CHUNK_SIZE"},
    ),
    "right-variable": (V1 + 'env: {LMCACHE_CHUNK_SIZE: "64"}\n', 1, {}),
    "read-elsewhere": (
        V1 + "env: {LMCACHE_LOG_LEVEL: DEBUG, LMCACHE_TRACK_USAGE: 'false', "
        "LMCACHE_EC_LOCAL_CPU: 'true', LMCACHE_USE_EXPERIMENTAL: 'True', "
        "LMCACHE_RESP_HOST: cache, LMCACHE_PLUGIN_LOCATIONS: /plugins}\n",
        1,
        {},
    ),
    "old-name": (V1 + "env: {LMCACHE_NIXL_ROLE: sender}\n", 1, {"LMC005": "`LMCACHE_NIXL_ROLE`"}),
    "old-key": (V1 + "lmcache: {nixl_role: sender}\n", 1, {"LMC001": "`nixl_role`"}),
    "old-key-that-counts": (V1 + "lmcache: {plugin_locations: /plugins}\n", 1, {}),
    "unread": (
        V1 + 'env: {LMCACHE_COMPRESSION_STRENGTH: "3"}\n',
        1,
        {"LMC006": "nothing in LMCache"},
    ),
    "not-lmcache": ("env: {LMCACHE_CHUNKSIZE: '64'}\nconnector: OffloadingConnector\n", 1, {}),
    "unreadable-variable": (V1 + "env: {LMCACHE_CHUNK_SIZE: 5k}\n", 1, {"LMC002": "5k"}),
    "extra": (
        "connector: {name: LMCacheConnectorV1, extra_config: {lmcache.chunksize: 64}}\n",
        1,
        {"LMC007": "`lmcache.chunksize`"},
    ),
    "extra-known": (
        "connector: {name: LMCacheConnectorV1, extra_config: {lmcache.chunk_size: 64, "
        "lmcache.max_tokens_per_load: 4096}}\n",
        1,
        {},
    ),
    "says-yes": (V1 + 'lmcache: {local_cpu: "yes"}\n', 1, {"LMC008": "`local_cpu: yes` as false"}),
    "says-on": (
        V1 + "env: {LMCACHE_USE_LAYERWISE: 'on'}\n",
        1,
        {"LMC008": "LMCACHE_USE_LAYERWISE"},
    ),
    "says-true": (V1 + "env: {LMCACHE_USE_LAYERWISE: 'True'}\n", 1, {}),
    "says-off": (V1 + "env: {LMCACHE_USE_LAYERWISE: 'off'}\n", 1, {}),
    "no-seed": (V1, 2, {"LMC009": "scheduler and its workers"}),
    "random-seed": (V1 + "env: {PYTHONHASHSEED: random}\n", 2, {"LMC009": "scheduler"}),
    "seed": (V1 + SEED, 2, {}),
    "named-algorithm": (V1 + "lmcache: {pre_caching_hash_algorithm: sha256_cbor}\n", 2, {}),
    "shared-no-seed": (
        V1 + "lmcache: {remote_url: 'lm://cache:65432'}\n",
        1,
        {"LMC009": "servers that share a store"},
    ),
    "shared-seed": (V1 + "lmcache: {remote_url: 'lm://cache:65432'}\n" + SEED, 1, {}),
    "two-ranks": (
        V1 + "lmcache: {max_local_cpu_size: 40}\n" + SEED,
        2,
        {"LMC010": "2 workers x 40 GiB = 80.00 GiB"},
    ),
    "one-rank": (V1 + "lmcache: {max_local_cpu_size: 40}\n" + SEED, 1, {}),
    "too-short": (
        V1 + "lmcache: {max_local_cpu_size: 3}\n",
        1,
        {"LMC011": "24,576 tokens (3 GiB at 131,072 bytes per token"},
    ),
    "short-for-two": (V1 + "lmcache: {max_local_cpu_size: 3}\n" + SEED, 2, {}),
    "short-with-disk": (
        V1 + "lmcache: {max_local_cpu_size: 3, local_disk: /mnt/nvme, max_local_disk_size: 50}\n",
        1,
        {},
    ),
    "no-buffer": (
        V1 + "lmcache: {local_cpu: false, max_local_cpu_size: 0}\n",
        1,
        {"LMC012": "`max_local_cpu_size: 0`"},
    ),
    "nowhere": (V1 + "lmcache: {local_cpu: false}\n", 1, {"LMC015": "stores nowhere"}),
    "remote-only": (
        V1 + "lmcache: {local_cpu: false, remote_url: 'lm://cache:65432'}\n" + SEED,
        1,
        {},
    ),
    "disk-without-size": (
        V1 + "lmcache: {local_disk: /mnt/nvme}\n",
        1,
        {"LMC013": "does not use the disk"},
    ),
    "refused": (V1 + "lmcache: {enable_controller: true}\n", 1, {"LMC014": "is required"}),
    "served": (MP.format("lmcache.mp.port: 5555", "l1-size-gb: 20, eviction-policy: LRU"), 1, {}),
    "served-elsewhere": (MP.format("lmcache.mp.mq_timeout: 60", "host: localhost"), 1, {}),
    "served-typo": (
        MP.format("lmcache.mp.hots: tcp://cache", "host: cache"),
        1,
        {"LMS002": "`lmcache.mp.hots`"},
    ),
    "server-typo": (
        MP.format("", "l1-sise-gb: 20, l1-size-gb: 20, eviction-policy: LRU"),
        1,
        {"LMS003": "`l1-sise-gb`"},
    ),
    "server-size-only": (MP.format("", "l1-size-gb: 20"), 1, {"LMS004": "`eviction-policy`"}),
    "server-start": (
        MP.format("", "start: true"),
        1,
        {"LMS004": "without `l1-size-gb` and `eviction-policy`"},
    ),
    "port-twice": (
        MP.format("lmcache.mp.host: 'tcp://cache:5555'", "host: cache"),
        1,
        {"LMS005": "`tcp://cache:5555:5555`"},
    ),
    "other-port": (
        MP.format("lmcache.mp.port: 6555", "port: 5555"),
        1,
        {"LMS006": "at port 6555, and the LMCache server has port 5555"},
    ),
    "large-server": (
        MP.format("", "l1-size-gb: 100, eviction-policy: LRU"),
        1,
        {"LMS007": "100 GiB of host memory, and the host has 64.00 GiB"},
    ),
    "large-server-elsewhere": (
        MP.format("lmcache.mp.host: tcp://cache", "l1-size-gb: 100, eviction-policy: LRU"),
        1,
        {},
    ),
}
# Gemma 3 4B keeps 34 layers x 2 x 4 heads x 256 x 2 bytes = 139,264 bytes for a token: 5 GiB hold
# 38,550 tokens, which is 150 chunks of 256 and a rest.
GEMMA = """\
name: {name}
model: google/gemma-3-4b-it
vllm: {{max-model-len: 75000}}
connector: LMCacheConnectorV1
lmcache: {{max_local_cpu_size: {size}}}
"""
# A part of the fix.
FIXES = {
    "old-name": "`LMCACHE_PD_ROLE`",
    "old-key": "`pd_role`",
    "misspelt": "`LMCACHE_CHUNK_SIZE`",
    "wrong-prefix": "`LMCACHE_CHUNK_SIZE`",
    "doubled-prefix": "`LMCACHE_CHUNK_SIZE`",
    "extra": "`lmcache.chunk_size`",
    "too-short": "`max_local_cpu_size: 4.0`",  # 32,768 tokens x 131,072 bytes
    "served-typo": "`lmcache.mp.host`",
    "server-typo": "`l1-size-gb`",
    "port-twice": "`lmcache.mp.host: tcp://cache` and `lmcache.mp.port: 5555`",
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The findings about LMCache for all cases in one call, by the name of the case."""
    directory = tmp_path_factory.mktemp("lmcache")
    documents = [
        LLAMA.format(name=name, ranks=ranks, gpu="H100-80GB") + text
        for name, (text, ranks, _found) in CASES.items()
    ]
    documents += [GEMMA.format(name=f"gemma-{size}", size=size) for size in (5, 20)]
    said = reports(directory, "---\n".join(documents), "--kv-cache-memory", "20GiB")
    return {
        name: [f for f in one["findings"] if f["id"].startswith("LM")] for name, one in said.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_each_setting(reported: dict[str, list[dict[str, Any]]], name: str) -> None:
    _text, _ranks, expected = CASES[name]
    found = {finding["id"]: finding for finding in reported[name]}
    assert set(found) == set(expected)
    assert len(found) == len(reported[name])
    for rule, said in expected.items():
        assert said in found[rule]["message"]
        assert FIXES.get(name, "") in found[rule]["fix"]


def test_the_longest_request_of_a_model_with_sliding_windows(
    reported: dict[str, list[dict[str, Any]]],
) -> None:
    (finding,) = reported["gemma-5"]
    assert (finding["id"], finding["severity"]) == ("LMC011", "warning")
    assert "38,400 tokens (5 GiB at 139,264 bytes per token" in finding["message"]
    assert "`max_local_cpu_size: 9.8`" in finding["fix"]
    assert reported["gemma-20"] == []
