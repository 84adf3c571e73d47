"""What a model's config.json means to vLLM: its own words, its class's defaults, what follows."""

from functools import cache
from typing import Any

from hmactl.catalogue.data_file import load
from hmactl.catalogue.estimate.question import UnknownError
from hmactl.catalogue.estimate.specs import KV_CACHE_DTYPES, SOME_HALF

# Where wrappers for several modalities keep the config of what generates text.
_TEXT_CONFIGS = ("text_config", "llm_config", "language_config")
_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
# RoPE types whose configs state a length that is already scaled.
_SCALED = {"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"}
_LONGEST_LIST = 10_000
_LARGEST = 1 << 40


class ModelConfig:
    """A config.json, read as vLLM reads it. Raises UnknownError for what it does not tell."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.whole = config
        self.text = _text(config)
        architectures = config.get("architectures")
        if not isinstance(architectures, list) or not architectures:
            raise UnknownError("config.json names no architecture")
        self.architecture = str(architectures[0])
        self.model_type = str(self.text.get("model_type") or config.get("model_type") or "")
        self._defaults = _class_defaults().get(self.model_type, {})

    def get(self, name: str) -> Any:
        """The value, or the default of the model's class; None if there is neither."""
        value = self.text.get(name)
        return self._defaults.get(name) if value is None and name not in self.text else value

    def integer(self, *names: str, least: int = 1) -> int:
        """The first of these that has a value."""
        for name in names:
            value = self.get(name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise UnknownError(f"config.json has no number as `{name}`")
                if not least <= value < _LARGEST or int(value) != value:
                    raise UnknownError(f"config.json has {value} as `{name}`")
                return int(value)
        raise UnknownError(f"config.json does not say `{names[0]}`")

    def listed(self, name: str) -> list[Any] | None:
        """A list of one value for each layer, if there is one."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > _LONGEST_LIST:
            raise UnknownError(f"config.json has no list as `{name}`")
        return value

    @property
    def layers(self) -> int:
        """How many layers there are."""
        layers = self.integer("num_hidden_layers", "n_layer", "n_layers", "num_layers")
        if layers > _LONGEST_LIST:
            raise UnknownError(f"config.json has {layers} as `num_hidden_layers`")
        return layers

    @property
    def heads(self) -> int:
        """Attention heads of all ranks."""
        return self.integer("num_attention_heads", "n_head", "n_heads")

    @property
    def kv_heads(self) -> int:
        """KV heads of all ranks: as many as there are heads, where config.json has no number."""
        names = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num")
        if all(self.get(name) is None for name in names):
            return self.heads
        return self.integer(*names)

    @property
    def head_size(self) -> int:
        """Of attention that is not MLA."""
        if self.get("head_dim"):
            return self.integer("head_dim")
        size = self.integer("hidden_size", "n_embd") // self.heads
        if size == 0:
            raise UnknownError("config.json has more heads than its hidden size")
        return size

    @property
    def window(self) -> int | None:
        """``sliding_window``, where it is in use."""
        if self.get("use_sliding_window") is False:
            return None
        value = self.get("sliding_window")
        return self.integer("sliding_window") if value else None

    def dtype(self, asked: str) -> str:
        """The model's data type, on a GPU that has bfloat16."""
        if asked != "auto":
            named = {"half": "float16", "float": "float32"}.get(asked, asked)
            if named not in {"bfloat16", "float16", "float32"}:
                raise UnknownError(f"the data type `{asked}` is not known")
            return named
        vision = self.whole.get("vision_config")
        parts = [self.whole, self.text, vision if isinstance(vision, dict) else {}]
        for part in parts:
            for name in ("torch_dtype", "dtype"):
                if isinstance(part.get(name), str):
                    value = part[name].removeprefix("torch.")
                    # vLLM never keeps a float32 checkpoint's precision by itself.
                    known = {"float32": "bfloat16", "bfloat16": "bfloat16", "float16": "float16"}
                    if value not in known:
                        raise UnknownError(f"the data type `{value}` is not known")
                    return known[value]
        return SOME_HALF

    def kv_cache_dtype(self, asked: str, model_dtype: str) -> str:
        """The data type of an element of the KV cache."""
        if asked == "auto":
            asked = self._quantized_kv_cache() or model_dtype
        if asked not in KV_CACHE_DTYPES:
            raise UnknownError(f"the KV cache's data type `{asked}` is not estimated")
        return KV_CACHE_DTYPES[asked]

    def _quantized_kv_cache(self) -> str | None:
        """What a checkpoint of ModelOpt says of its KV cache."""
        quantization = self.whole.get("quantization_config")
        if not isinstance(quantization, dict):
            return None
        inner = quantization.get("quantization")
        parts = [inner if isinstance(inner, dict) else quantization, quantization]
        method = str(quantization.get("quant_method") or "")
        named = [part.get(k) for k in ("kv_cache_scheme", "kv_cache_quant_algo") for part in parts]
        scheme = next((value for value in named if value), None)
        if scheme is None or not method:
            return None
        if not method.startswith("modelopt"):
            raise UnknownError(f"a KV cache quantised by `{method}` is not estimated")
        if isinstance(scheme, dict):
            static = scheme.get("dynamic") is False and scheme.get("type") == "float"
            scheme = "fp8" if static and scheme.get("num_bits") == 8 else "another"
        if str(scheme).lower() != "fp8":
            raise UnknownError("a KV cache quantised as this checkpoint says is not estimated")
        return "fp8_e4m3"

    def max_model_len(self, asked: int | None) -> int:
        """The longest request, in tokens."""
        if asked is not None:
            if asked <= 0:
                raise UnknownError("a length that vLLM would fit to the memory is not estimated")
            return asked
        lengths = [self.integer(name) for name in _LENGTHS if self.get(name) is not None]
        if not lengths:
            raise UnknownError("config.json does not say how long requests may be")
        length = self.integer("model_max_length") if self.get("model_max_length") else min(lengths)
        return self._scaled(length)

    def _scaled(self, length: int) -> int:
        ropes = [rope for rope in self._ropes() if rope]
        if "gemma3" in str(self.whole.get("model_type")):
            return length
        factor: float = 1.0
        for rope in ropes:
            kind = str(rope.get("rope_type", rope.get("type", "default")))
            if kind in {"longrope", "su"}:
                if self.get("original_max_position_embeddings") is None:
                    return length
                return self.integer("original_max_position_embeddings")
            if kind not in _SCALED and rope.get("factor") is not None:
                factor = rope["factor"]
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            raise UnknownError("config.json has no number as the factor of its RoPE")
        if not 0 < factor < _LARGEST:
            raise UnknownError(f"config.json has {factor} as the factor of its RoPE")
        return int(length * factor)

    def _ropes(self) -> list[dict[str, Any]]:
        """RoPE parameters of the whole config, where vLLM looks for them; one for a layer type."""
        # vLLM asks the whole config, which has none where a text config is inside.
        for name in ("rope_parameters", "rope_scaling"):
            value = self.whole.get(name)
            if isinstance(value, dict):
                nested = [part for part in value.values() if isinstance(part, dict)]
                return nested or [value]
        return []


def _text(config: dict[str, Any]) -> dict[str, Any]:
    thinker = config.get("thinker_config")
    for part in (config, thinker if isinstance(thinker, dict) else {}):
        for name in _TEXT_CONFIGS:
            if isinstance(part.get(name), dict):
                inner: dict[str, Any] = part[name]
                return inner
    return config


@cache
def _class_defaults() -> dict[str, dict[str, Any]]:
    """By model_type: what a config class says where config.json says nothing."""
    defaults: dict[str, dict[str, Any]] = load("config-defaults.json")["defaults"]
    return defaults
