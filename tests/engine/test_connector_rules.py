"""What the rules say about connectors, Mamba states, variables and topology, with a real engine."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import reports
from tiny_configs import MLA, TEXT
from tiny_models import write_config

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

LLAMA, GEMMA, QWEN = "llama", "gemma3", "qwen3_next"
V1, MP, OFFLOADING = "LMCacheConnectorV1", "LMCacheMPConnector", "OffloadingConnector"
SIMPLE, STORE = "SimpleCPUOffloadConnector", "MooncakeStoreConnector"
# HMA001 to HMA005 follow from the verdict and are tested with it.
FAMILIES = (
    *("CON", "ENV", "TOP", "VER", "HMA006", "HMA007", "HMA008", "HMA009", "HMA010"),
    *("LMS025", "LMS026"),
)
_LAYERS = ["sliding_attention"] * 3 + ["full_attention"]
# Tiny models with what the others do not have.
MODELS: dict[str, dict[str, Any]] = {
    "two-sizes": TEXT
    | {
        "architectures": ["Gemma4ForCausalLM"],
        "model_type": "gemma4_text",
        "layer_types": _LAYERS,
        "sliding_window": 512,
        "global_head_dim": 128,
        "num_global_key_value_heads": 2,
        "vocab_size_per_layer_input": 512,
        "hidden_size_per_layer_input": 0,
    },
    # Two heads of 64 are as much as one of 128.
    "same-sizes": TEXT
    | {
        "architectures": ["Gemma4ForCausalLM"],
        "model_type": "gemma4_text",
        "layer_types": _LAYERS,
        "sliding_window": 512,
        "global_head_dim": 128,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "vocab_size_per_layer_input": 512,
        "hidden_size_per_layer_input": 0,
    },
    "indexer": TEXT
    | MLA
    | {
        "architectures": ["DeepseekV32ForCausalLM"],
        "model_type": "deepseek_v32",
        "index_head_dim": 128,
        "index_n_heads": 4,
        "index_topk": 64,
    },
    "mla": TEXT | MLA | {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3"},
    "whisper": {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "d_model": 256,
        "encoder_layers": 2,
        "decoder_layers": 4,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 512,
        "decoder_ffn_dim": 512,
        "vocab_size": 51865,
        "max_target_positions": 448,
        "max_source_positions": 1500,
        "num_mel_bins": 80,
        "dtype": "bfloat16",
    },
}


def _multi(*children: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A MultiConnector as `kv-transfer-config`, in which nothing is filled in."""
    extra = {"connectors": list(children)} | top
    config = {"kv_connector": "MultiConnector", "kv_role": "kv_both"}
    return {"kv-transfer-config": config | {"kv_connector_extra_config": extra}}


def _child(**more: Any) -> dict[str, Any]:
    return {"kv_connector": OFFLOADING, "kv_role": "kv_both"} | more


def _profile(model: str = LLAMA, connector: Any = None, **parts: Any) -> dict[str, Any]:
    profile = {"model": model, "vllm": {}, "target": {"gpu": "H100-80GB"}} | parts
    return profile | ({} if connector is None else {"connector": connector})


def _mamba(connector: Any = MP, **flags: Any) -> dict[str, Any]:
    return _profile(QWEN, connector, vllm=flags)


_PIECEWISE = {"compilation-config": {"cudagraph_mode": "PIECEWISE"}}
_EXPANDABLE = "expandable_segments:True"
_SERVERS = {"name": MP, "extra_config": {"lmcache.mp.server_urls": "tcp://a:1,tcp://b:1"}}
_AT_6001 = {"name": MP, "extra_config": {"lmcache.mp.port": 6001}}
_PD = {
    "enable_pd": True,
    "pd_role": "receiver",
    "pd_buffer_size": 1073741824,
    "pd_buffer_device": "cuda",
    "pd_peer_host": "localhost",
    "pd_peer_alloc_port": [7400, 7401],
}
_SEED = {"PYTHONHASHSEED": "0"}

# A profile, the rules of these families that speak, and a part of what each says.
CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "plain": (_profile(connector=V1), {}),
    # Children of MultiConnector.
    "child": (_profile(vllm=_multi(_child())), {}),
    "child-without-role": (
        _profile(vllm=_multi({"kv_connector": OFFLOADING})),
        {"CON004": f"the child {OFFLOADING} of MultiConnector has no `kv_role`"},
    ),
    "child-wrong-role": (
        _profile(vllm=_multi(_child(kv_role="both"))),
        {"CON004": "the role `both`, which does not exist"},
    ),
    "child-with-engine-id": (
        _profile(vllm=_multi(_child(engine_id="a"))),
        {"CON005": "has an `engine_id` of its own"},
    ),
    "extra-of-multi": (
        _profile(vllm=_multi(_child(), cpu_bytes_to_use=1000000000)),
        {"CON006": "`cpu_bytes_to_use` has no effect at MultiConnector itself"},
    ),
    "policy-of-child": (
        _profile(vllm=_multi(_child(kv_load_failure_policy="recompute"))),
        {"CON006": "`kv_load_failure_policy` has no effect at the child"},
    ),
    # Names and roles.
    "former": (
        _profile(connector="SharedStorageConnector"),
        {"CON001": "is called ExampleConnector since vLLM 0.13.0"},
    ),
    "former-first-engine": (_profile(connector="LMCacheConnector"), {"CON001": "first engine"}),
    "one-sided-offload": (
        _profile(connector={"name": OFFLOADING, "role": "kv_consumer"}),
        {"CON009": "does not look at its role `kv_consumer`"},
    ),
    "one-sided-mp": (_profile(connector={"name": MP, "role": "kv_consumer"}), {}),
    "replaced": (
        _profile(connector={"name": "NixlConnector", "role": "kv_producer"})
        | {"vllm": {"kv-offloading-size": 10}},
        {"CON017": f"makes vLLM use {OFFLOADING} instead of NixlConnector"},
    ),
    "offloading-size": (_profile(vllm={"kv-offloading-size": 10}), {}),
    "size-over-its-own": (
        _profile(connector={"name": OFFLOADING, "extra_config": {"cpu_bytes_to_use": 1000}})
        | {"vllm": {"kv-offloading-size": 10}},
        {"CON021": "`cpu_bytes_to_use: 1000`"},
    ),
    "backend-alone": (
        _profile(vllm={"kv-offloading-backend": "lmcache"}),
        {"CON022": "does nothing without `kv-offloading-size`"},
    ),
    "lmcache-backend": (
        _profile(vllm={"kv-offloading-backend": "lmcache", "kv-offloading-size": 40}),
        {"LMS026": "at localhost:5555 for `kv-offloading-backend: lmcache`, and ignores"},
    ),
    # What a model's layers are.
    "encoder-decoder": (_profile("whisper", OFFLOADING), {"CON010": "encoder-decoder model"}),
    "encoder-decoder-alone": (_profile("whisper"), {}),
    "two-sizes": (_profile("two-sizes", V1), {"CON011": "2 x 64 and 2 x 128"}),
    "two-sizes-served": (_profile("two-sizes", MP), {}),
    "same-sizes": (_profile("same-sizes", V1), {}),
    "indexer": (_profile("indexer", V1), {"CON011": "the layers of this model differ"}),
    "mla": (_profile("mla", V1), {}),
    # LMCache in process.
    "layerwise": (
        _profile(connector=V1, lmcache={"use_layerwise": True}),
        {"CON012": "CUDA graph mode FULL_AND_PIECEWISE"},
    ),
    "layerwise-variable": (
        _profile(connector=V1, env={"LMCACHE_USE_LAYERWISE": "True"}),
        {"CON012": "CUDA graph mode FULL_AND_PIECEWISE"},
    ),
    "layerwise-prefixed": (
        _profile(connector={"name": V1, "extra_config": {"lmcache.use_layerwise": True}}),
        {"CON012": "CUDA graph mode FULL_AND_PIECEWISE"},
    ),
    "layerwise-seen": (
        _profile(
            connector={
                "name": V1,
                "extra_config": {"use_layerwise": True, "lmcache.use_layerwise": True},
            }
        ),
        {},
    ),
    "layerwise-piecewise": (
        _profile(connector=V1, lmcache={"use_layerwise": True}, vllm=_PIECEWISE),
        {},
    ),
    "layerwise-eager": (
        _profile(connector=V1, lmcache={"use_layerwise": True}, vllm={"enforce-eager": True}),
        {},
    ),
    "blending": (
        _profile(connector=V1, lmcache={"enable_blending": True}),
        {"CON013": "do not register it with LMCache"},
    ),
    "ports": (
        _profile(
            connector=V1,
            lmcache=_PD | {"pd_peer_init_port": [7300]},
            env=_SEED,
            vllm={"tensor-parallel-size": 2},
        ),
        {"TOP004": "`pd_peer_init_port` has 1 port for 2 tensor parallel ranks"},
    ),
    "ports-enough": (
        _profile(
            connector=V1,
            lmcache=_PD | {"pd_peer_init_port": [7300, 7301]},
            env=_SEED,
            vllm={"tensor-parallel-size": 2},
        ),
        {},
    ),
    "two-hosts": (
        _profile(
            connector=V1,
            env=_SEED,
            vllm={"tensor-parallel-size": 2, "nnodes": 2, "master-addr": "127.0.0.1"},
        ),
        {"TOP003": "on 2 hosts"},
    ),
    # What connectors say of the plan.
    "chunk": (
        _profile(connector={"name": OFFLOADING, "extra_config": {"block_size": 40}}),
        {"CON014": "must be a multiple of the GPU KV cache block size (16 tokens)"},
    ),
    "chunk-fits": (
        _profile(connector={"name": OFFLOADING, "extra_config": {"block_size": 48}}),
        {},
    ),
    "states-not-kept": (
        _mamba(**{"enable-prefix-caching": False}),
        {"CON014": "MambaSpec with mamba_cache_mode='none'"},
    ),
    "states-not-kept-offloading": (
        _mamba(OFFLOADING, **{"enable-prefix-caching": False}),
        {"CON014": "--enable-prefix-caching"},
    ),
    "states-kept": (_mamba(**{"enable-prefix-caching": True}), {"HMA010": "find nothing"}),
    "states-alone": (_mamba(None, **{"enable-prefix-caching": True}), {}),
    "states-over-nixl": (
        _mamba("NixlConnector"),
        {"CON014": "requires DS conv state layout", "HMA010": "find nothing"},
    ),
    "states-over-nixl-laid-out": (
        _mamba("NixlConnector") | {"env": {"VLLM_SSM_CONV_STATE_LAYOUT": "DS"}},
        {"HMA010": "find nothing"},
    ),
    "simple-offload-disk": (
        _profile(connector={"name": SIMPLE, "extra_config": {"kv_offload_backend": "disk"}}),
        {"CON014": "requires disk_path"},
    ),
    "simple-offload": (
        _profile(connector={"name": SIMPLE, "extra_config": {"cpu_bytes_to_use": 1 << 40}}),
        {},
    ),
    "small-steps": (
        _mamba(
            **{
                "enable-prefix-caching": True,
                "max-num-batched-tokens": 100,  # the block is 80
                "max-num-seqs": 16,
            }
        ),
        {"HMA008": "has room for one Mamba block", "HMA010": "find nothing"},
    ),
    "other-mode": (
        _mamba(None, **{"enable-prefix-caching": False, "mamba-cache-mode": "align"}),
        {"HMA009": "`mamba-cache-mode: align` becomes `none`"},
    ),
    "same-mode": (
        _mamba(None, **{"enable-prefix-caching": True, "mamba-cache-mode": "align"}),
        {},
    ),
    "no-states": (_profile(vllm={"mamba-cache-mode": "align"}), {}),
    "several-servers": (
        _profile(connector=_SERVERS, vllm={"pipeline-parallel-size": 2}),
        {"TOP005": "2 LMCache servers"},
    ),
    "servers-for-ranks": (_profile(connector=_SERVERS, vllm={"tensor-parallel-size": 2}), {}),
    # One LMCache server for two models. Mamba blocks have 80 tokens here, the others 16 or 64.
    "server-of-states": (
        _mamba(_AT_6001) | {"lmcache_server": {"port": 6001, "chunk-size": 240}},
        {"HMA010": "find nothing"},
    ),
    "beside-states": (
        _profile(connector=_AT_6001, vllm={"block-size": 64}),
        {"LMS025": "no multiple of vLLM's block sizes 80 and 64"},
    ),
    "beside-states-fits": (_profile(connector=_AT_6001), {}),
    # Memory that moves.
    "sleep": (
        _profile(connector=V1, vllm={"enable-sleep-mode": True}),
        {"CON016": "does not tell connectors"},
    ),
    "sleep-alone": (_profile(vllm={"enable-sleep-mode": True}), {}),
    "new-variable": (
        _profile(connector="NixlConnector", env={"PYTORCH_ALLOC_CONF": _EXPANDABLE}),
        {"ENV001": "with NixlConnector"},
    ),
    "new-variable-copies": (
        _profile(connector=OFFLOADING, env={"PYTORCH_ALLOC_CONF": _EXPANDABLE}),
        {},
    ),
    "new-variable-other": (
        _profile(connector="NixlConnector", env={"PYTORCH_ALLOC_CONF": "max_split_size_mb:512"}),
        {},
    ),
    "former-variables": (
        _profile(
            connector=V1,
            env={"LMCACHE_USE_EXPERIMENTAL": "True", "VLLM_LOGGING_LEVEL": "INFO"},
        ),
        {"ENV002": "nothing reads `LMCACHE_USE_EXPERIMENTAL` any more"},
    ),
    "former-backend": (
        _profile(env={"VLLM_ATTENTION_BACKEND": "FLASHINFER"}),
        {"ENV002": "`VLLM_ATTENTION_BACKEND`"},
    ),
    # Both sides of a transfer. Findings are at the decode server.
    "prefill": (
        _profile(
            vllm={"kv-cache-dtype": "fp8"},
            connector={
                "name": "NixlConnector",
                "role": "kv_producer",
                "options": {"engine_id": "x"},
            },
        ),
        {},
    ),
    "decode": (
        _profile(
            connector={
                "name": "NixlConnector",
                "role": "kv_consumer",
                "options": {"engine_id": "x"},
            }
        ),
        {"TOP001": "KV cache dtype", "TOP002": "`engine_id` x"},
    ),
    "prefill-of-gemma": (
        _profile(GEMMA, {"name": "NixlConnector", "role": "kv_producer"}),
        {},
    ),
    "decode-of-gemma": (
        _profile(GEMMA, {"name": "NixlConnector", "role": "kv_consumer"}),
        {},
    ),
    "prefill-of-whole-heads": (
        _profile("mla", {"name": "NixlConnector", "role": "kv_producer"}, hma="disable"),
        {},
    ),
    "decode-of-whole-heads": (
        _profile(
            "mla",
            {"name": "NixlConnector", "role": "kv_consumer"},
            vllm={"block-size": 128},
        ),
        {"TOP001": "HMA on and off"},
    ),
}
# Deployments whose connector lacks HMA, the connectors that would do, and what each takes besides.
_ALL = {MP: "--chunk-size 240` of the server", OFFLOADING: "", SIMPLE: "", STORE: ""}
_CACHING = "here with `enable-prefix-caching: true`"
ALTERNATIVES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "instead-of-v1": (_profile(GEMMA, V1), _ALL | {MP: "5555)"}),
    # Its blocks of 80 tokens do not divide LMCache's 256.
    "instead-of-v1-states": (_mamba(V1, **{"enable-prefix-caching": True}), _ALL),
    "instead-of-v1-states-not-kept": (
        _mamba(V1, **{"enable-prefix-caching": False}),
        dict.fromkeys(_ALL, _CACHING),
    ),
    "instead-of-a-child": (
        _profile(
            GEMMA,
            {"name": "MultiConnector", "children": [{"name": OFFLOADING}, {"name": V1}]},
        ),
        _ALL | {MP: "5555)"},
    ),
}
# A part of the fix.
FIXES = {
    "beside-states": "multiple of 320",
    "simple-offload-disk": "change what",
    "states-not-kept": "`enable-prefix-caching: true`",
    "former-first-engine": "`LMCacheConnectorV1`",
    "ports": "`pd_peer_init_port: [7300, 7301]`",
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is said of all cases in one call, by the name of the case."""
    directory = tmp_path_factory.mktemp("connectors")
    for name in (LLAMA, GEMMA, QWEN):
        write_config(name, directory / name)
    for name, config in MODELS.items():
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config))
    profiles = {name: profile for name, (profile, _found) in (CASES | ALTERNATIVES).items()}
    documents = [_in(directory, profile) | {"name": n} for n, profile in profiles.items()]
    text = yaml.safe_dump_all(documents)
    return reports(directory, text, "--kv-cache-memory", "20GiB")


def _in(directory: Path, profile: dict[str, Any]) -> dict[str, Any]:
    return profile | {"model": str(directory / profile["model"])}


@pytest.mark.parametrize("name", CASES)
def test_each_case(reported: dict[str, dict[str, Any]], name: str) -> None:
    expected = CASES[name][1]
    found = [f for f in reported[name]["findings"] if f["id"].startswith(FAMILIES)]
    assert {f["id"] for f in found} == set(expected), found
    assert len(found) == len(expected)
    for finding in found:
        assert expected[finding["id"]] in finding["message"]
        assert FIXES.get(name, "") in finding["fix"]


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_alternatives_are_those_that_work_for_the_model(
    reported: dict[str, dict[str, Any]], name: str
) -> None:
    expected = ALTERNATIVES[name][1]
    (fix,) = (f["fix"] for f in reported[name]["findings"] if f["id"] in {"HMA001", "HMA002"})
    assert {c for c in _ALL if f"`{c}`" in fix} == set(expected)
    lines = [line for line in fix.splitlines() if line.startswith("- ")]
    described = {line.split("`")[1]: line for line in lines}
    assert len(described) == min(len(expected), 3)
    for connector, line in described.items():
        assert expected[connector] in line
