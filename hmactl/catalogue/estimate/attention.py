"""Models whose layers all are attention with K and V of their own, or MLA."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.model import AnyLayer, Attention, Builder, Latent, Model, share
from hmactl.catalogue.estimate.question import UnknownError
from hmactl.catalogue.estimate.specs import FP8

_SLIDING = "sliding_attention"
_FULL = "full_attention"
_CHUNKED = "chunked_attention"
_KNOWN_TYPES = {_SLIDING, _FULL, _CHUNKED}
# A key of the indexer in bytes: 128 elements of fp8 and their scale.
INDEXER_BYTES = 132


def dense(config: ModelConfig, ranks: int) -> Model:
    """Equal layers; a window is that of all of them."""
    types = layer_types(config)
    if types is not None and len(set(types)) > 1:
        raise UnknownError(f"{config.architecture} with layers of several types")
    window = config.window if types is None or set(types) == {_SLIDING} else None
    return _equal_heads(config, ranks, [window] * config.layers)


def by_types(config: ModelConfig, ranks: int) -> Model:
    """Layers with a window and without, as ``layer_types`` says."""
    return _equal_heads(config, ranks, _windows(config, _types(config)))


def dense_or_by_types(config: ModelConfig, ranks: int) -> Model:
    """Classes that look at ``layer_types`` only if it is there."""
    types = layer_types(config)
    if types is None or len(set(types)) == 1:
        return dense(config, ranks)
    return by_types(config, ranks)


def every_second(config: ModelConfig, ranks: int) -> Model:
    """gpt-oss: a window in each layer of an even index."""
    window = config.window
    windows = [window if index % 2 == 0 else None for index in range(config.layers)]
    return replace(_equal_heads(config, ranks, windows), sinks=True)


def one_token_wider(config: ModelConfig, ranks: int) -> Model:
    """Cohere 2, whose window does not count the token itself."""
    windows = [w and w + 1 for w in _windows(config, _types(config))]
    return _equal_heads(config, ranks, windows)


def pattern(every: int) -> Builder:
    """One layer of so many is without a window, where ``layer_types`` does not say which."""

    def build(config: ModelConfig, ranks: int) -> Model:
        if config.get("layer_types") is not None:
            return by_types(config, ranks)
        return _equal_heads(config, ranks, _windows(config, _patterned(config, every)))

    return build


def shared_heads(config: ModelConfig, ranks: int) -> Model:
    """Gemma 3n: the last layers use the KV cache of earlier ones."""
    model = pattern(5)(config, ranks)
    own = config.layers - config.integer("num_kv_shared_layers", least=0)
    return Model(tuple(x for x in model.layers if x.index < own), model.depth)


def gemma3(config: ModelConfig, ranks: int) -> Model:
    """Gemma 3, that attends to both sides in its embedding models only."""
    if config.get("use_bidirectional_attention"):
        raise UnknownError("a Gemma that attends to both sides")
    model = pattern(6)(config, ranks)
    return replace(model, sees_both_sides=config.whole.get("model_type") == "gemma3")


def gemma4(config: ModelConfig, ranks: int) -> Model:
    """Gemma 4: other heads in layers without a window, and shared KV caches at the end."""
    if config.get("use_bidirectional_attention") == "all":
        raise UnknownError("a Gemma that attends to both sides")
    types = layer_types(config) or _patterned(config, 6)
    types[-1] = _FULL
    whole_heads = config.kv_heads
    if config.get("attention_k_eq_v") is not False and config.get("num_global_key_value_heads"):
        whole_heads = config.integer("num_global_key_value_heads")
    whole_size = config.integer("global_head_dim") if config.get("global_head_dim") else 512
    own = config.layers
    if config.get("num_kv_shared_layers"):
        own -= config.integer("num_kv_shared_layers")
    layers: list[AnyLayer] = []
    for index, kind in enumerate(types[:own]):
        if kind == _SLIDING:
            heads, size, window = config.kv_heads, config.head_size, config.window
        else:
            heads, size, window = whole_heads, whole_size, None
        layers.append(Attention(index, share(heads, ranks), size, size, window))
    sees = config.get("use_bidirectional_attention") == "vision"
    return Model(tuple(layers), config.layers, sees_both_sides=sees)


def llama4(config: ModelConfig, ranks: int) -> Model:
    """Llama 4: chunks where there is RoPE."""
    rope = config.listed("no_rope_layers")
    if not rope:
        every = config.integer("no_rope_layer_interval")
        rope = [(index + 1) % every for index in range(config.layers)]
    if len(rope) != config.layers:
        raise UnknownError("`no_rope_layers` is not one value for each layer")
    chunk = config.integer("attention_chunk_size") if config.get("attention_chunk_size") else None
    heads, size = share(config.kv_heads, ranks), config.head_size
    layers = [
        Attention(index, heads, size, size, chunk=chunk if value else None)
        for index, value in enumerate(rope)
    ]
    return Model(tuple(layers), config.layers)


def mimo_v2(config: ModelConfig, ranks: int) -> Model:
    """MiMo V2: K and V of different sizes, other heads in layers with a window."""
    kinds = config.listed("hybrid_layer_pattern") or []
    if len(kinds) != config.layers:
        raise UnknownError("`hybrid_layer_pattern` is not one value for each layer")
    window = config.integer("sliding_window_size", "sliding_window")
    sizes = {
        True: _sizes(config, ranks, "swa_"),
        False: _sizes(config, ranks, ""),
    }
    layers = [
        Attention(index, *sizes[bool(kind)], window=window if kind else None)
        for index, kind in enumerate(kinds)
    ]
    return Model(tuple(layers), config.layers)


def _sizes(config: ModelConfig, ranks: int, prefix: str) -> tuple[int, int, int]:
    size = config.integer(f"{prefix}head_dim")
    value = config.get(f"{prefix}v_head_dim")
    heads = share(config.integer(f"{prefix}num_key_value_heads"), ranks)
    return heads, size, size if value is None else config.integer(f"{prefix}v_head_dim")


def deci(config: ModelConfig, ranks: int) -> Model:
    """Nemotron NAS: some layers have no attention, others have heads of their own."""
    blocks = config.listed("block_configs") or []
    if len(blocks) != config.layers:
        raise UnknownError("`block_configs` is not one value for each layer")
    layers: list[AnyLayer] = []
    for index, block in enumerate(blocks):
        attention = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(attention, dict):
            raise UnknownError("`block_configs` has no attention")
        if attention.get("no_op") or attention.get("replace_with_linear"):
            continue
        grouped = attention.get("n_heads_in_group")
        if not isinstance(grouped, int) or grouped <= 0:
            raise UnknownError("`block_configs` has no `n_heads_in_group`")
        size = config.head_size
        layers.append(Attention(index, share(config.heads // grouped, ranks), size, size))
    return Model(tuple(layers), config.layers)


def latent(config: ModelConfig, ranks: int) -> Model:
    """DeepSeek V2 and what followed: MLA in every layer."""
    _divides(config, ranks)
    size = latent_size(config)
    layers = tuple(Latent(index, size) for index in range(config.layers))
    return Model(layers, config.layers, nope_head_size=config.integer("qk_nope_head_dim"))


def sparse(config: ModelConfig, ranks: int) -> Model:
    """DeepSeek V3.2 and GLM 5: an indexer's keys beside the latent vectors."""
    _divides(config, ranks)
    if config.integer("index_head_dim") != 128:
        raise UnknownError("an indexer of another size")
    size = latent_size(config)
    layers: list[AnyLayer] = []
    for index in range(config.layers):
        if _has_indexer(config, index):
            layers.append(Latent(index, INDEXER_BYTES, FP8))
        layers.append(Latent(index, size))
    return Model(tuple(layers), config.layers, sparse=True)


def _has_indexer(config: ModelConfig, index: int) -> bool:
    types = config.listed("indexer_types")
    if types is None:
        if any(name.startswith("index_topk_") for name in config.text):
            raise UnknownError("layers that share an indexer")
        return True
    if len(types) != config.layers or not {str(x) for x in types} <= {"full", "shared"}:
        raise UnknownError("`indexer_types` is not one of the known values for each layer")
    return bool(types[index] == "full")


def latent_size(config: ModelConfig) -> int:
    """Elements that MLA keeps of a token in a layer."""
    return config.integer("kv_lora_rank") + config.integer("qk_rope_head_dim")


def _divides(config: ModelConfig, ranks: int) -> None:
    if config.heads % ranks:
        raise UnknownError(f"{config.heads} heads on {ranks} ranks")


def layer_types(config: ModelConfig) -> list[str] | None:
    """``layer_types``, as the model's class fills it in."""
    types = config.listed("layer_types")
    if types is not None:
        return _check(config, types)
    if config.model_type in {"qwen2", "qwen3"} and config.window is not None:
        full = config.integer("max_window_layers")
        return [_FULL if index < full else _SLIDING for index in range(config.layers)]
    return None


def _types(config: ModelConfig) -> list[str]:
    types = layer_types(config)
    if types is None:
        raise UnknownError("config.json does not say `layer_types`")
    return types


def _check(config: ModelConfig, types: list[Any]) -> list[str]:
    if len(types) < config.layers:
        raise UnknownError("`layer_types` is not one value for each layer")
    other = {str(kind) for kind in types} - _KNOWN_TYPES
    if other:
        raise UnknownError(f"layers of type {', '.join(sorted(other))}")
    return [str(kind) for kind in types[: config.layers]]


def _patterned(config: ModelConfig, every: int) -> list[str]:
    given = config.get("sliding_window_pattern")
    if isinstance(given, str):
        if not set(given) <= {"L", "G"} or not given:
            raise UnknownError(f"the pattern of windows `{given}`")
        return [_SLIDING if given[i % len(given)] == "L" else _FULL for i in range(config.layers)]
    if given:
        every = config.integer("sliding_window_pattern")
    return [_SLIDING if (index + 1) % every else _FULL for index in range(config.layers)]


def _windows(config: ModelConfig, types: Sequence[str]) -> list[int | None]:
    if _CHUNKED in types:
        raise UnknownError("chunks of attention in this model")
    if _SLIDING in types and config.window is None:
        raise UnknownError("config.json does not say `sliding_window`")
    return [config.window if kind == _SLIDING else None for kind in types]


def _equal_heads(config: ModelConfig, ranks: int, windows: Sequence[int | None]) -> Model:
    _divides(config, ranks)
    heads, size = share(config.kv_heads, ranks), config.head_size
    layers = [Attention(index, heads, size, size, w) for index, w in enumerate(windows)]
    return Model(tuple(layers), config.layers)
