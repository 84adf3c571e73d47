"""Models with layers that keep a state instead of tokens, most of them beside attention."""

from collections.abc import Sequence
from dataclasses import replace

from hmactl.catalogue.estimate.attention import latent_size
from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.model import (
    AnyLayer,
    Attention,
    Latent,
    Model,
    State,
    divided,
    share,
)
from hmactl.catalogue.estimate.question import UnknownError

MODEL_DTYPE = "model"
# The data type of a recurrent state: what --mamba-ssm-cache-dtype says, or the one behind it.
SSM_DTYPE = "ssm:"

_STATE_TYPES = {"mamba", "linear_attention", "conv"}
_ATTENTION_TYPES = {"attention", "full_attention"}
_ATTENTION, _STATE = True, False

Shapes = tuple[tuple[int, ...], ...]


def jamba(config: ModelConfig, ranks: int) -> Model:
    """Mamba 1, attention in each layer of a period at one offset."""
    period, offset = config.integer("attn_layer_period"), config.integer("attn_layer_offset")
    kinds = [index % period == offset for index in range(config.layers)]
    inner = config.integer("mamba_expand") * config.integer("hidden_size")
    shapes = _mamba1(config.integer("mamba_d_conv"), inner, config.integer("mamba_d_state"), ranks)
    return _model(config, ranks, kinds, State(0, "mamba1", "MAMBA1", shapes, _dtypes()))


def nemotron_h(config: ModelConfig, ranks: int) -> Model:
    """Mamba 2, attention and layers without a cache, as the pattern says."""
    if config.get("block_configs"):
        raise UnknownError("a Nemotron-H with different blocks")
    heads, size = config.integer("mamba_num_heads"), config.integer("mamba_head_dim")
    shapes = _mamba2(
        ranks=ranks,
        inner=heads * size,
        groups=config.integer("n_groups"),
        heads=heads,
        head_size=size,
        state_size=config.integer("ssm_state_size"),
        kernel=config.integer("conv_kernel"),
    )
    own = str(config.get("mamba_ssm_cache_dtype") or "float32")
    return _model(config, ranks, _nemotron_kinds(config), _mamba2_state(shapes, own))


def _nemotron_kinds(config: ModelConfig) -> list[bool | None]:
    pattern = config.get("hybrid_override_pattern")
    kinds = list(pattern) if isinstance(pattern, str) else config.listed("layers_block_type")
    if not kinds:
        raise UnknownError("config.json does not say `hybrid_override_pattern`")
    known = {"*": _ATTENTION, "M": _STATE, "-": None, "E": None, "mlp": None, "moe": None}
    known |= dict.fromkeys(_ATTENTION_TYPES, _ATTENTION) | dict.fromkeys(_STATE_TYPES, _STATE)
    if not {str(kind) for kind in kinds} <= set(known):
        raise UnknownError("layers of an unknown type in a Nemotron-H")
    return [known[kind] for kind in kinds]


def granite_hybrid(config: ModelConfig, ranks: int) -> Model:
    """Granite 4: Mamba 2 or attention in each layer."""
    inner = config.integer("mamba_expand") * config.integer("hidden_size")
    shapes = _mamba2_named(config, ranks, inner)
    return _model(config, ranks, _kinds(config), _mamba2_state(shapes))


def falcon_h1(config: ModelConfig, ranks: int) -> Model:
    """Attention and Mamba 2 side by side in every layer."""
    if config.get("mamba_d_ssm") is None:
        inner = config.integer("mamba_expand") * config.integer("hidden_size")
    else:
        inner = config.integer("mamba_d_ssm")
    shapes = _mamba2_named(config, ranks, inner)
    state = _mamba2_state(shapes)
    attention = _model(config, ranks, [_ATTENTION] * config.layers, state)
    states = _model(config, ranks, [_STATE] * config.layers, state)
    return Model((*attention.layers, *states.layers), config.layers)


def gated_delta(config: ModelConfig, ranks: int) -> Model:
    """Qwen3-Next, Qwen3.5 and OLMo hybrid: gated delta nets."""
    kinds: list[bool | None] = []
    if config.get("layer_types") is not None:
        kinds += _kinds(config)
    else:
        every = config.integer("full_attention_interval")
        kinds += [(index + 1) % every == 0 for index in range(config.layers)]
    key_heads = config.integer("linear_num_key_heads")
    value_heads = config.integer("linear_num_value_heads")
    key_size = config.integer("linear_key_head_dim")
    value_size = config.integer("linear_value_head_dim")
    width = key_size * key_heads * 2 + value_size * value_heads
    shapes = (
        (config.integer("linear_conv_kernel_dim") - 1, divided(width, ranks)),
        (divided(value_heads, ranks), value_size, key_size),
    )
    own = str(config.get("mamba_ssm_dtype") or "")
    state = State(0, "gated_delta", "GDN_ATTN", shapes, _dtypes(own))
    return _model(config, ranks, kinds, state)


def kimi_linear(config: ModelConfig, ranks: int) -> Model:
    """Kimi delta attention beside MLA."""
    linear = config.get("linear_attn_config")
    if not isinstance(linear, dict):
        raise UnknownError("config.json does not say `linear_attn_config`")
    try:
        full = {int(number) - 1 for number in linear["full_attn_layers"]}
        heads, size = int(linear["num_heads"]), int(linear["head_dim"])
        kernel = int(linear["short_conv_kernel_size"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UnknownError("`linear_attn_config` lacks something") from error
    if min(heads, size, kernel) <= 0:
        raise UnknownError("`linear_attn_config` has no sizes")
    if config.heads % ranks:
        raise UnknownError(f"{config.heads} heads on {ranks} ranks")
    shapes = (
        (kernel - 1, divided(3 * heads * size, ranks)),
        (divided(heads, ranks), size, size),
    )
    latent = latent_size(config)
    # One of the kernels that a bounded gate allows keeps states for prefix caching.
    bounded = linear.get("gate_lower_bound") is not None
    form = "bounded_kimi_delta" if bounded else "kimi_delta"
    state = State(0, form, "GDN_ATTN", shapes, _dtypes("float32"))
    layers: list[AnyLayer] = [
        Latent(index, latent) if index in full else replace(state, index=index)
        for index in range(config.layers)
    ]
    return Model(tuple(layers), config.layers, nope_head_size=config.integer("qk_nope_head_dim"))


def short_conv(config: ModelConfig, ranks: int) -> Model:
    """LFM2: short convolutions."""
    width = config.integer("conv_dim")
    shapes = ((config.integer("conv_L_cache") - 1, divided(width, ranks)),)
    return _model(
        config, ranks, _kinds(config), State(0, "short_conv", "SHORT_CONV", shapes, (MODEL_DTYPE,))
    )


def _kinds(config: ModelConfig) -> list[bool | None]:
    types = config.listed("layer_types") or config.listed("layers_block_type")
    if types is None or len(types) != config.layers:
        raise UnknownError("config.json does not say `layer_types` of each layer")
    unknown = {str(kind) for kind in types} - _STATE_TYPES - _ATTENTION_TYPES
    if unknown:
        raise UnknownError(f"layers of type {', '.join(sorted(unknown))}")
    return [kind in _ATTENTION_TYPES for kind in types]


def _dtypes(recurrent: str = "") -> tuple[str, str]:
    return MODEL_DTYPE, SSM_DTYPE + recurrent


def _mamba2_state(shapes: Shapes, recurrent: str = "") -> State:
    return State(0, "mamba2", "MAMBA2", shapes, _dtypes(recurrent))


def _mamba1(kernel: int, inner: int, state_size: int, ranks: int) -> Shapes:
    return ((kernel - 1, divided(inner, ranks)), (divided(inner, ranks), state_size))


def _mamba2(
    *,
    ranks: int,
    inner: int,
    groups: int,
    heads: int,
    head_size: int,
    state_size: int,
    kernel: int,
) -> Shapes:
    # Groups that cannot be split are copied, so that each rank has those of its heads.
    if groups % ranks:
        groups = ranks
    width = inner + 2 * groups * state_size
    return (
        (kernel - 1, divided(width, ranks)),
        (divided(heads, ranks), head_size, state_size),
    )


def _mamba2_named(config: ModelConfig, ranks: int, inner: int) -> Shapes:
    return _mamba2(
        ranks=ranks,
        inner=inner,
        groups=config.integer("mamba_n_groups"),
        heads=config.integer("mamba_n_heads"),
        head_size=config.integer("mamba_d_head"),
        state_size=config.integer("mamba_d_state"),
        kernel=config.integer("mamba_d_conv"),
    )


def _model(
    config: ModelConfig,
    ranks: int,
    kinds: Sequence[bool | None],
    state: State,
) -> Model:
    """``kinds``: attention, ``state``, or None for a layer that keeps nothing."""
    layers: list[AnyLayer] = []
    for index, kind in enumerate(kinds):
        if kind is _ATTENTION:
            if config.heads % ranks:
                raise UnknownError(f"{config.heads} heads on {ranks} ranks")
            heads = share(config.kv_heads, ranks)
            layers.append(Attention(index, heads, config.head_size, config.head_size))
        elif kind is _STATE:
            layers.append(replace(state, index=index))
    return Model(tuple(layers), len(kinds))
