"""What vLLM's settings of the KV cache do to the plan. Figures are arithmetic, shown beside."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run
from tiny_configs import TEXT
from tiny_models import CONFIGS

pytestmark = pytest.mark.engine

GIB = 2**30
MIB = 2**20
_GEMMA: dict[str, Any] = {
    "model_type": "gemma3_text",
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
    "sliding_window": 512,
    "query_pre_attn_scalar": 64,
}
MODELS: dict[str, dict[str, Any]] = {
    "full": TEXT | {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
    "sliding": TEXT | {"architectures": ["Gemma3ForCausalLM"]} | _GEMMA,
    "wrapped": {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "image_token_index": 500,
        "mm_tokens_per_image": 16,
        "text_config": TEXT | _GEMMA,
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 224,
        },
    },
    "hybrid": TEXT | CONFIGS["qwen3_next"],
}
DOCUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("full", {}),
    "full-uncached": ("full", {"enable-prefix-caching": False}),
    "hybrid": ("hybrid", {}),
    "hybrid-uncached": ("hybrid", {"enable-prefix-caching": False}),
    "mode-align": ("hybrid", {"mamba-cache-mode": "align"}),
    "mode-none": ("hybrid", {"mamba-cache-mode": "none"}),
    "mode-all": ("hybrid", {"mamba-cache-mode": "all"}),
    "mamba-block": ("hybrid", {"mamba-block-size": 1024}),
    "mamba-block-uncached": (
        "hybrid",
        {"mamba-block-size": 1024, "enable-prefix-caching": False},
    ),
    "hybrid-fp8": ("hybrid", {"kv-cache-dtype": "fp8"}),
    "fp8": ("full", {"kv-cache-dtype": "fp8"}),
    "fp8_e4m3": ("full", {"kv-cache-dtype": "fp8_e4m3"}),
    "fp8_e5m2": ("full", {"kv-cache-dtype": "fp8_e5m2"}),
    "fp8_per_token_head": ("full", {"kv-cache-dtype": "fp8_per_token_head"}),
    "fp8_ds_mla": ("full", {"kv-cache-dtype": "fp8_ds_mla"}),
    "block-64": ("full", {"block-size": 64}),
    "block-100": ("full", {"block-size": 100}),
    "batch-8192": ("sliding", {"max-num-batched-tokens": 8192}),
    "batch-1024": ("sliding", {"max-num-batched-tokens": 1024}),
    "override": ("full", {"num-gpu-blocks-override": 4096}),
    "auto": ("full", {"max-model-len": "auto", "kv-cache-memory-bytes": 8 * MIB}),
    "auto-number": ("full", {"max-model-len": -1, "kv-cache-memory-bytes": 8 * MIB}),
    "too-long": ("full", {"kv-cache-memory-bytes": 8 * MIB}),
    "bytes": ("full", {"kv-cache-memory-bytes": GIB}),
    "bytes-text": ("full", {"kv-cache-memory-bytes": "2G"}),
    "overrides": ("full", {"hf-overrides": {"num_hidden_layers": 3}}),
    "overrides-json": ("full", {"hf-overrides": '{"num_hidden_layers": 3}'}),
    "overrides-dotted": ("full", {"hf-overrides.num_hidden_layers": 3}),
    "overrides-nested": ("wrapped", {"hf-overrides.text_config.num_key_value_heads": 1}),
    "overrides-endless": ("full", {"hf-overrides": {"num_hidden_layers": 10_000_000}}),
    "online-fp8": ("full", {"quantization": "fp8"}),
    "awq": ("full", {"quantization": "awq"}),
}
_answers: dict[str, dict[str, Any]] = {}


@pytest.fixture
def answers(engine: Any, hmactl: Run, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """All of them, asked once in one call."""
    if engine.vllm is None or not engine.vllm.version.startswith("0.32.0"):
        pytest.skip("the choices and refusals are those of vLLM 0.32.0")
    if not _answers:
        for name, config in MODELS.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "config.json").write_text(json.dumps(config))
        documents = [
            {"name": name, "model": f"./{model}", "vllm": flags}
            for name, (model, flags) in DOCUMENTS.items()
        ]
        (tmp_path / "p.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
        done = hmactl("check", "-q", "--format", "json", "--gpu", "H100-80GB", "p.yaml")
        deployments = json.loads(done.stdout)["deployments"]
        _answers.update({one["name"]: one for one in deployments})
    return _answers


def _layers(one: dict[str, Any]) -> list[tuple[int, str, int, int]]:
    assert one["plan"] is not None, one["findings"]
    kinds = one["plan"]["layers"]
    return [(k["count"], k["spec"], k["block_size"], k["page_size_bytes"]) for k in kinds]


def _refusal(one: dict[str, Any]) -> str:
    (finding,) = (f for f in one["findings"] if f["severity"] == "error")
    return str(finding["message"])


# Keys and values of 2 heads of 64 in 2 bytes.
_TOKEN = 2 * 2 * 64 * 2
# The convolution's state, 3 of 2 x 2 x 64 + 4 x 64 channels, and 4 heads of 64 x 64, in 2 bytes.
_STATE = (3 * (2 * 2 * 64 + 4 * 64) + 4 * 64 * 64) * 2


def test_prefix_caching_does_nothing_to_full_attention(answers: dict[str, Any]) -> None:
    assert answers["full-uncached"]["plan"]["hma_on"] == answers["full"]["plan"]["hma_on"]


def test_a_state_takes_a_block_of_attention(answers: dict[str, Any]) -> None:
    # The fewest tokens, in steps of 16, whose page holds a state.
    tokens = -(-_STATE // (_TOKEN * 16)) * 16
    expected = [
        (3, "MambaSpec", tokens, tokens * _TOKEN),
        (1, "FullAttentionSpec", tokens, tokens * _TOKEN),
    ]
    assert _layers(answers["hybrid"]) == expected
    # By its documentation "align" is the default where prefixes are cached.
    for name in ("mode-align", "mode-none"):
        assert answers[name]["plan"] == answers["hybrid"]["plan"]
    # An fp8 token takes half.
    fp8 = -(-_STATE // (_TOKEN // 2 * 16)) * 16
    kinds = [(k[1], k[2]) for k in _layers(answers["hybrid-fp8"])]
    assert kinds == [("MambaSpec", fp8), ("FullAttentionSpec", fp8)]


def test_a_request_has_two_states_where_prefixes_are_cached(answers: dict[str, Any]) -> None:
    tokens = -(-_STATE // (_TOKEN * 16)) * 16
    page = tokens * _TOKEN
    attention = -(-8192 // tokens)
    cached, uncached = (answers[n]["plan"]["hma_on"] for n in ("hybrid", "hybrid-uncached"))
    assert cached["bytes_per_request"] == (3 * 2 + attention) * page
    assert uncached["bytes_per_request"] == (3 * 1 + attention) * page
    # One state is for a whole request then.
    assert _layers(answers["hybrid-uncached"])[0][2] == 8192


def test_modes_and_blocks_that_vllm_refuses(answers: dict[str, Any]) -> None:
    assert "invalid choice: 'all'" in _refusal(answers["mode-all"])
    assert "can only be set with --enable-prefix-caching" in _refusal(
        answers["mamba-block-uncached"]
    )
    # Where states are aligned, vLLM replaces that setting by attention's block size.
    assert answers["mamba-block"]["plan"] == answers["hybrid"]["plan"]


@pytest.mark.parametrize("name", ["fp8", "fp8_e4m3", "fp8_e5m2"])
def test_an_fp8_cache_takes_half(answers: dict[str, Any], name: str) -> None:
    assert _layers(answers[name]) == [(4, "FullAttentionSpec", 16, 16 * _TOKEN // 2)]


def test_scales_for_each_token_and_head(answers: dict[str, Any]) -> None:
    scales = 16 * 2 * 2 * 4  # tokens, keys and values, heads, float32
    expected = [(4, "FullAttentionSpec", 16, 16 * _TOKEN // 2 + scales)]
    assert _layers(answers["fp8_per_token_head"]) == expected


@pytest.mark.parametrize("name", ["fp8_ds_mla", "block-100"])
def test_what_no_backend_can_do(answers: dict[str, Any], name: str) -> None:
    assert "No valid attention backend found" in _refusal(answers[name])


def test_larger_blocks_hold_the_same(answers: dict[str, Any]) -> None:
    assert _layers(answers["block-64"]) == [(4, "FullAttentionSpec", 64, 64 * _TOKEN)]
    plans = [answers[n]["plan"]["hma_on"]["tokens"] for n in ("full", "block-64")]
    assert plans[1] == pytest.approx(plans[0], abs=64)


@pytest.mark.parametrize("batch", [1024, 8192])
def test_a_window_keeps_a_batch_too(answers: dict[str, Any], batch: int) -> None:
    one = answers[f"batch-{batch}"]["plan"]["hma_on"]
    # The window without its last token and the batches in flight, of which asynchronous scheduling
    # has two; at most the length. The first block is held in part.
    held = -(-min(512 - 1 + 2 * batch, 8192) // 16) + 1
    assert one["bytes_per_request"] == (3 * held + 8192 // 16) * 16 * _TOKEN


def test_the_number_of_blocks_is_the_operators(answers: dict[str, Any]) -> None:
    one = answers["override"]["plan"]["hma_on"]
    assert (one["num_blocks"], one["tokens"]) == (4096, 4096 * 16)


@pytest.mark.parametrize(("name", "size"), [("bytes", GIB), ("bytes-text", 2 * GIB)])
def test_memory_that_is_given(answers: dict[str, Any], name: str, size: int) -> None:
    plan = answers[name]["plan"]
    assert plan["memory_origin"] == "given"
    assert plan["hma_on"]["tokens"] == size // (4 * _TOKEN)


@pytest.mark.parametrize("name", ["auto", "auto-number"])
def test_a_length_that_fits_the_memory(answers: dict[str, Any], name: str) -> None:
    fits = 8 * MIB // (4 * _TOKEN)
    assert "max seq len (8192)" in answers["too-long"]["plan"]["hma_on"]["error"]
    one = answers[name]["plan"]["hma_on"]
    assert one["error"] is None
    assert one["max_model_len"] == pytest.approx(fits, abs=16)
    assert one["max_model_len"] <= one["tokens"] <= fits
    assert answers[name]["findings"] == []


@pytest.mark.parametrize("name", ["overrides", "overrides-json", "overrides-dotted"])
def test_overrides_of_the_config(answers: dict[str, Any], name: str) -> None:
    assert _layers(answers[name]) == [(3, "FullAttentionSpec", 16, 16 * _TOKEN)]


def test_overrides_inside_the_config(answers: dict[str, Any]) -> None:
    # One head instead of two.
    assert {kind[3] for kind in _layers(answers["overrides-nested"])} == {16 * _TOKEN // 2}


def test_overrides_without_end(answers: dict[str, Any]) -> None:
    one = answers["overrides-endless"]
    assert one["verdict"]["decision"] == "unknown"
    assert "10,000,000 layers" in one["failure"]


def test_weights_that_are_quantised_while_they_load(answers: dict[str, Any]) -> None:
    plain, quantised = (
        answers[n]["plan"]["weights_bytes_per_rank"][0] for n in ("full", "online-fp8")
    )
    # Queries, keys and values, the output, and three of the MLP: one byte less for each.
    linear = 4 * (256 * 64 * (4 + 2 + 2) + 4 * 64 * 256 + 3 * 256 * 512)
    assert plain - quantised == linear


def test_quantisation_that_the_checkpoint_lacks(answers: dict[str, Any]) -> None:
    assert "Cannot find the config file for awq" in _refusal(answers["awq"])
