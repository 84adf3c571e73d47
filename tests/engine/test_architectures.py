"""Every kind of KV cache layer and of wrapper around a model, in a tiny config each.

The layers expected are those that the config itself names; groups and refusals are the engine's.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run
from tiny_configs import MLA, TEXT

pytestmark = pytest.mark.engine

_CANNOT_UNIFY = "Failed to promote local KV cache specs to one unified type."
_VISION: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
_MAMBA2: dict[str, Any] = {
    "mamba_d_state": 64,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_n_heads": 8,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 256,
}
_SLIDING = ["sliding_attention"] * 3 + ["full_attention"]
_LINEAR = ["linear_attention"] * 3 + ["full_attention"]
_SHARDED_INT4 = {"bits": 4, "group_size": 64, "desc_act": False, "sym": True}


@dataclass(frozen=True)
class Case:
    """``layers``: specs and how many layers have them. ``off``: why HMA cannot be off."""

    name: str
    architecture: str
    config: dict[str, Any]
    layers: dict[str, int]
    groups: int
    off: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=lambda: TEXT)


def _full(name: str, architecture: str, config: dict[str, Any], **more: Any) -> Case:
    return Case(name, architecture, config, {"FullAttentionSpec": 4}, 1, **more)


def _hybrid(name: str, architecture: str, config: dict[str, Any], **more: Any) -> Case:
    specs = {"MambaSpec": 3, "FullAttentionSpec": 1}
    return Case(name, architecture, config, specs, 4, _CANNOT_UNIFY, **more)


CASES = (
    _full("llama", "LlamaForCausalLM", {"model_type": "llama"}),
    _full(
        "awq",
        "LlamaForCausalLM",
        {
            "model_type": "llama",
            "quantization_config": {
                "quant_method": "awq",
                "bits": 4,
                "group_size": 64,
                "zero_point": True,
                "version": "gemm",
            },
        },
    ),
    _full(
        "gptq",
        "LlamaForCausalLM",
        {"model_type": "llama", "quantization_config": {"quant_method": "gptq"} | _SHARDED_INT4},
    ),
    _full(
        "compressed_tensors",
        "LlamaForCausalLM",
        {
            "model_type": "llama",
            "quantization_config": {
                "quant_method": "compressed-tensors",
                "format": "nvfp4-pack-quantized",
                "ignore": ["lm_head"],
                "config_groups": {
                    "group_0": {
                        "targets": ["Linear"],
                        "weights": {
                            "num_bits": 4,
                            "type": "float",
                            "strategy": "tensor_group",
                            "group_size": 16,
                            "symmetric": True,
                        },
                        "input_activations": {
                            "num_bits": 4,
                            "type": "float",
                            "strategy": "tensor_group",
                            "group_size": 16,
                            "symmetric": True,
                            "dynamic": "local",
                        },
                    }
                },
            },
        },
    ),
    Case(
        "sliding",
        "Gemma3ForCausalLM",
        {
            "model_type": "gemma3_text",
            "layer_types": _SLIDING,
            "sliding_window": 512,
            "query_pre_attn_scalar": 64,
        },
        {"SlidingWindowSpec": 3, "FullAttentionSpec": 1},
        4,
    ),
    Case(
        "multimodal",
        "Gemma3ForConditionalGeneration",
        {
            "model_type": "gemma3",
            "image_token_index": 500,
            "mm_tokens_per_image": 16,
            "text_config": TEXT
            | {
                "model_type": "gemma3_text",
                "layer_types": _SLIDING,
                "sliding_window": 512,
                "query_pre_attn_scalar": 64,
            },
            "vision_config": _VISION | {"model_type": "siglip_vision_model", "image_size": 224},
        },
        {"SlidingWindowSpec": 3, "FullAttentionSpec": 1},
        4,
        text={},
    ),
    Case(
        "chunked",
        "Llama4ForCausalLM",
        {
            "model_type": "llama4_text",
            "attention_chunk_size": 1024,
            "layer_types": ["chunked_attention"] * 3 + ["full_attention"],
            "no_rope_layers": [1, 1, 1, 0],
            "num_local_experts": 4,
            "num_experts_per_tok": 1,
            "intermediate_size_mlp": 512,
            "interleave_moe_layer_step": 2,
        },
        {"ChunkedLocalAttentionSpec": 3, "FullAttentionSpec": 1},
        4,
    ),
    Case(
        "sinks_mxfp4",
        "GptOssForCausalLM",
        {
            "model_type": "gpt_oss",
            "layer_types": ["sliding_attention", "full_attention"] * 2,
            "sliding_window": 128,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "quantization_config": {"quant_method": "mxfp4"},
        },
        {"SlidingWindowSpec": 2, "FullAttentionSpec": 2},
        2,
    ),
    Case(
        "mla_fp8",
        "DeepseekV3ForCausalLM",
        MLA
        | {
            "model_type": "deepseek_v3",
            "quantization_config": {
                "quant_method": "fp8",
                "activation_scheme": "dynamic",
                "weight_block_size": [128, 128],
            },
        },
        {"MLAAttentionSpec": 4},
        1,
    ),
    Case(
        "mtp_draft",
        "DeepseekV3ForCausalLM",
        MLA | {"model_type": "deepseek_v3", "num_nextn_predict_layers": 1},
        {"MLAAttentionSpec": 5},
        1,
        flags={"speculative-config": {"method": "mtp", "num_speculative_tokens": 1}},
    ),
    Case(
        "sparse_mla",
        "DeepseekV32ForCausalLM",
        MLA
        | {
            "model_type": "deepseek_v32",
            "index_head_dim": 128,
            "index_n_heads": 4,
            "index_topk": 64,
        },
        {"MLAAttentionSpec": 8},  # each layer has the indexer's cache beside its own
        1,
    ),
    Case(
        "compressed_sparse",
        "DeepseekV4ForCausalLM",
        {
            "model_type": "deepseek_v4",
            "head_dim": 512,
            "num_key_value_heads": 1,
            "num_attention_heads": 64,
            "q_lora_rank": 128,
            "o_lora_rank": 128,
            "o_groups": 8,
            "qk_rope_head_dim": 64,
            "index_head_dim": 128,
            "index_n_heads": 64,
            "index_topk": 512,
            "n_routed_experts": 8,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 128,
            "num_hash_layers": 1,
            "scoring_func": "sqrtsoftplus",
            "topk_method": "noaux_tc",
            "norm_topk_prob": True,
            "routed_scaling_factor": 1.5,
            "swiglu_limit": 10.0,
            "hc_mult": 4,
            "hc_eps": 1e-6,
            "hc_sinkhorn_iters": 20,
            "compress_ratios": [0, 4, 128, 4],
            "compress_rope_theta": 160000,
            "rope_theta": 10000.0,
            "sliding_window": 128,
            "rope_scaling": {
                "type": "yarn",
                "factor": 16,
                "beta_fast": 32,
                "beta_slow": 1,
                "original_max_position_embeddings": 65536,
            },
            "quantization_config": {
                "quant_method": "fp8",
                "activation_scheme": "dynamic",
                "fmt": "e4m3",
                "weight_block_size": [128, 128],
            },
        },
        # Of 4 layers all have a window, 3 a compressed cache and its state, 2 an indexer and its.
        {"SlidingWindowMLASpec": 4 + 3 + 2, "MLAAttentionSpec": 3 + 2},
        5,
        "MLAAttentionSpec.__init__() got an unexpected keyword argument 'bounded_replay'",
    ),
    Case(
        "mamba1",
        "JambaForCausalLM",
        {
            "model_type": "jamba",
            "attn_layer_period": 4,
            "attn_layer_offset": 2,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "num_experts": 1,
            "num_experts_per_tok": 1,
            "mamba_d_state": 16,
            "mamba_d_conv": 4,
            "mamba_expand": 2,
        },
        {"MambaSpec": 3, "FullAttentionSpec": 1},
        4,
        _CANNOT_UNIFY,
    ),
    _hybrid(
        "mamba2",
        "GraniteMoeHybridForCausalLM",
        {
            "model_type": "granitemoehybrid",
            "layer_types": ["mamba", "mamba", "mamba", "attention"],
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "shared_intermediate_size": 256,
        }
        | _MAMBA2,
    ),
    Case(
        "mamba2_beside_attention",
        "FalconH1ForCausalLM",
        {"model_type": "falcon_h1", "mamba_d_ssm": 512} | _MAMBA2,
        {"FullAttentionSpec": 4, "MambaSpec": 4},
        2,
        _CANNOT_UNIFY,
    ),
    Case(
        "attention_free",
        "MambaForCausalLM",
        {"model_type": "mamba", "state_size": 16, "conv_kernel": 4, "expand": 2},
        {"MambaSpec": 4},
        1,
    ),
    _hybrid(
        "gated_delta_net",
        "Qwen3NextForCausalLM",
        {
            "model_type": "qwen3_next",
            "layer_types": _LINEAR,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 64,
            "linear_value_head_dim": 64,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 128,
            "shared_expert_intermediate_size": 128,
            "decoder_sparse_step": 1,
        },
    ),
    Case(
        "kimi_delta",
        "KimiLinearForCausalLM",
        MLA
        | {
            "model_type": "kimi_linear",
            "q_lora_rank": None,
            "mla_use_nope": True,
            "linear_attn_config": {
                "kda_layers": [1, 2, 3],
                "full_attn_layers": [4],
                "head_dim": 128,
                "num_heads": 4,
                "short_conv_kernel_size": 4,
            },
            "num_experts": 4,
            "num_experts_per_token": 2,
            "num_shared_experts": 1,
            "moe_layer_freq": 1,
            "moe_renormalize": True,
            "moe_router_activation_func": "sigmoid",
            "num_expert_group": 1,
        },
        {"MambaSpec": 3, "MLAAttentionSpec": 1},
        4,
        _CANNOT_UNIFY,
    ),
    Case(
        "short_convolution",
        "Lfm2ForCausalLM",
        {
            "model_type": "lfm2",
            "layer_types": ["conv", "conv", "conv", "full_attention"],
            "conv_L_cache": 3,
            "conv_bias": False,
            "block_dim": 256,
            "block_ff_dim": 512,
            "conv_dim": 256,
            "block_auto_adjust_ff_dim": False,
            "block_multiple_of": 256,
            "block_ffn_dim_multiplier": 1.0,
            "norm_eps": 1e-5,
        },
        {"MambaSpec": 3, "FullAttentionSpec": 1},
        4,
        _CANNOT_UNIFY,
    ),
    Case(
        "lightning",
        "BailingMoeV2_5ForCausalLM",
        MLA
        | {
            "model_type": "bailing_hybrid",
            "auto_map": {"AutoConfig": "configuration_bailing.BailingConfig"},
            "layer_group_size": 4,
            "num_experts": 4,
            "num_shared_experts": 1,
            "group_norm_size": 1,
            "linear_silu": True,
            "use_qkv_bias": False,
            "use_bias": False,
            "use_qk_norm": True,
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.5,
        },
        {"MambaSpec": 3, "MLAAttentionSpec": 1},
        4,
        _CANNOT_UNIFY,
        flags={"trust-remote-code": True},
    ),
    Case(
        "shared_kv",
        "Gemma3nForCausalLM",
        {
            "model_type": "gemma3n_text",
            "num_hidden_layers": 8,
            "layer_types": _SLIDING * 2,
            "intermediate_size": [512] * 8,
            "num_kv_shared_layers": 4,  # they have no cache of their own
            "sliding_window": 512,
            "vocab_size_per_layer_input": 512,
            "hidden_size_per_layer_input": 32,
            "laurel_rank": 16,
            "activation_sparsity_pattern": [0.0] * 8,
        },
        {"SlidingWindowSpec": 3, "FullAttentionSpec": 1},
        4,
    ),
    Case(
        "two_head_sizes",
        "Gemma4ForCausalLM",
        {
            "model_type": "gemma4_text",
            "layer_types": _SLIDING,
            "sliding_window": 512,
            "global_head_dim": 128,
            "num_global_key_value_heads": 1,
            "hidden_size_per_layer_input": 0,
        },
        {"SlidingWindowSpec": 3, "FullAttentionSpec": 1},
        4,
    ),
    Case(
        "cross_attention",
        "WhisperForConditionalGeneration",
        {
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
        {"FullAttentionSpec": 4, "CrossAttentionSpec": 4},
        2,
        _CANNOT_UNIFY,
        text={},
    ),
    Case(
        "encoder_only",
        "BertModel",
        {"model_type": "bert", "type_vocab_size": 2, "max_position_embeddings": 512},
        {},
        0,
    ),
    Case(
        "eagle_draft",
        "LlamaForCausalLM",
        {"model_type": "llama"},
        {"FullAttentionSpec": 5},
        1,
        flags={
            "speculative-config": {
                "method": "eagle3",
                "model": "{directory}/draft",
                "num_speculative_tokens": 2,
            }
        },
    ),
    _full(
        "pooling",
        "Qwen3ForCausalLM",
        {"model_type": "qwen3"},
        flags={"runner": "pooling", "convert": "embed"},
    ),
    Case(
        "own_config_code",
        "DeciLMForCausalLM",
        {
            "model_type": "nemotron-nas",
            "auto_map": {"AutoConfig": "configuration_decilm.DeciLMConfig"},
            "intermediate_size": None,
            "num_key_value_heads": None,
            "rope_theta": 500000.0,
            "block_configs": [
                {
                    "attention": {"n_heads_in_group": 2, "no_op": n == 1},
                    "ffn": {"ffn_mult": 2.0, "no_op": False},
                }
                for n in range(4)
            ],
        },
        {"FullAttentionSpec": 3},
        1,
        flags={"trust-remote-code": True},
    ),
)


# vLLM 0.23 dropped this model, and its way around transformers' classes knows no Mamba.
_DROPPED = TEXT | {"architectures": ["BambaForCausalLM"], "model_type": "bamba"} | _MAMBA2
_DRAFT = TEXT | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "draft_vocab_size": 512,
}
_answers: dict[str, dict[str, Any]] = {}


@pytest.fixture
def answers(engine: Any, hmactl: Run, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """What hmactl says of every case, asked once in one call."""
    if engine.vllm is None or not engine.vllm.version.startswith("0.32.0"):
        pytest.skip("the groups and refusals are those of vLLM 0.32.0")
    if not _answers:
        configs = {
            case.name: case.text | {"architectures": [case.architecture]} | case.config
            for case in CASES
        }
        configs |= {"dropped": _DROPPED, "draft": _DRAFT}
        for name, config in configs.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "config.json").write_text(json.dumps(config))
        documents = [_document(case.name, case.flags) for case in CASES]
        documents.append(_document("dropped", {}))
        text = yaml.safe_dump_all(documents).replace("{directory}", str(tmp_path))
        (tmp_path / "p.yaml").write_text(text)
        options = ("--gpu", "H100-80GB", "--kv-cache-memory", "4GiB")
        done = hmactl("check", "-q", "--format", "json", *options, "p.yaml")
        deployments = json.loads(done.stdout)["deployments"]
        _answers.update({one["name"]: one for one in deployments})
    return _answers


def _document(name: str, flags: dict[str, Any]) -> dict[str, Any]:
    return {"model": f"./{name}", "name": name, "vllm": {"enforce-eager": True} | flags}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_architecture(case: Case, answers: dict[str, dict[str, Any]]) -> None:
    one = answers[case.name]
    assert one["failure"] is None
    assert one["plan"] is not None, one["findings"]
    layers: Counter[str] = Counter()
    for kind in one["plan"]["layers"]:
        layers[kind["spec"]] += kind["count"]
    on, off = one["plan"]["hma_on"], one["plan"]["hma_off"]
    assert layers == case.layers
    assert on["error"] is None
    assert len(on["groups"]) == case.groups
    assert off["error"] == case.off
    assert len(one["missing"]) == ("auto_map" in case.config)


def test_weights_are_counted_exactly(answers: dict[str, dict[str, Any]]) -> None:
    attention = 256 * (4 + 2 + 2) * 64 + 4 * 64 * 256
    layer = attention + 3 * 256 * 512 + 2 * 256
    parameters = 512 * 256 + 4 * layer + 256  # the output layer is the embedding
    # vLLM's own buffers: rotary positions, and four scales of float32 for each layer.
    buffers = 8192 * 64 * 2 + 4 * 4 * 4
    assert answers["llama"]["plan"]["weights_bytes_per_rank"] == [parameters * 2 + buffers]


def test_a_model_that_the_engine_dropped_is_refused(answers: dict[str, dict[str, Any]]) -> None:
    one = answers["dropped"]
    assert one["plan"] is None
    (finding,) = one["findings"]
    assert finding["id"] == "ENG001"
    assert "Layer 0 (linear_attention) does not dispatch" in finding["message"]
