"""Tiny models with random weights, for servers and dry boots without a hub.

    python tests/tiny_models.py gemma3 OUT_DIR

Each has the layer kinds of the model family it is named after, in a few megabytes. Their answers
are noise. The tokenizer works on bytes, except that "hi" is one token, so that prompts of an
exact length are easy to write: "hi" * n.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

_POSITIONS = 131072
_SPECIAL = ("<pad>", "<bos>", "<eos>")
_COMMON: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": _POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "dtype": "bfloat16",
    # The usual 0.02 makes so small a model answer every prompt alike.
    "initializer_range": 0.06,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 6,
        "head_dim": 64,
        "tie_word_embeddings": True,
    },
    "gemma3": {
        "model_type": "gemma3_text",
        "architectures": ["Gemma3ForCausalLM"],
        "num_hidden_layers": 6,
        "head_dim": 64,
        "query_pre_attn_scalar": 64,
        "sliding_window": 512,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "tie_word_embeddings": True,
    },
    "qwen3_next": {
        "model_type": "qwen3_next",
        "architectures": ["Qwen3NextForCausalLM"],
        "num_hidden_layers": 4,
        "head_dim": 64,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
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
        "tie_word_embeddings": True,
    },
    "jamba": {
        "model_type": "jamba",
        "architectures": ["JambaForCausalLM"],
        "num_hidden_layers": 4,
        "attn_layer_period": 4,
        "attn_layer_offset": 2,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "num_experts": 1,
        "num_experts_per_tok": 1,
        "mamba_d_state": 16,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "tie_word_embeddings": False,
    },
}


def write_config(name: str, directory: Path) -> Path:
    """Write config.json only, which is all that a dry boot reads; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    config = _COMMON | CONFIGS[name]
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return directory


def write_model(name: str, directory: Path) -> Path:
    """Write a model that a server can load: config, weights, tokenizer; returns the directory.

    Needs torch and transformers. Run it in a process of its own: see ``_hide_media``.
    """
    _hide_media()
    torch, transformers = _module("torch"), _module("transformers")
    write_config(name, directory)
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(directory)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(directory)
    ids = {key: _COMMON[key] for key in ("pad_token_id", "bos_token_id", "eos_token_id")}
    transformers.GenerationConfig(**ids).save_pretrained(directory)
    _write_tokenizer(directory)
    # transformers has written its own, with every default of its version spelt out; a dry boot
    # and a server should read the same one.
    return write_config(name, directory)


def _write_tokenizer(directory: Path) -> None:
    tokenizers = _module("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    words = [*_SPECIAL, *sorted(byte_level.alphabet()), "hi"]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[("h", "i")]))
    tokenizer.pre_tokenizer = byte_level(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens([tokenizers.AddedToken(w, special=True) for w in _SPECIAL])
    fast = _module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        model_max_length=_POSITIONS,
    )
    fast.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    fast.save_pretrained(directory)


def _module(name: str) -> Any:
    """An engine's library, untyped: the type checker may run where none is installed."""
    return importlib.import_module(name)


def _hide_media() -> None:
    """PyPI's builds of these fail beside a CPU build of torch, and transformers imports them."""
    for name in ("torchvision", "torchaudio", "torchcodec"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


if __name__ == "__main__":
    write_model(sys.argv[1], Path(sys.argv[2]))
