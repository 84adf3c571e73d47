"""Read the config of a model that comes with code of its own, without running that code.

vLLM has its own implementation of many such models and needs their code only for the class of
the config. That class mostly holds what config.json says, so config.json is read as it stands.
"""

import json
from pathlib import Path
from typing import Any

# As config classes commonly map them.
_OLD_NAMES = {
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}


def read_as_data(directory: str) -> list[str]:
    """Make the engine take config.json as it stands, where it would run code to read it.

    Returns what is not known because of that. For a model type that the engine knows by itself
    nothing changes.
    """
    try:
        config = json.loads(Path(directory, "config.json").read_text("utf-8"))
        code = config["auto_map"]["AutoConfig"]
        model_type = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # no such model; if there is anything wrong, the engine says what
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from vllm.transformers_utils import config as engine

    known = model_type in CONFIG_MAPPING or model_type in getattr(engine, "_CONFIG_REGISTRY", ())
    if known or not _vllm_has(config):
        return []
    transformers.AutoConfig.register(model_type, _plain_config(config))
    return [f"what the model's own code ({code}) makes of its config.json: it was not run"]


def _vllm_has(config: dict[str, Any]) -> bool:
    """Whether vLLM has a class of its own for the model, not one around transformers'."""
    from vllm.model_executor.models import ModelRegistry

    classes = [ModelRegistry.models.get(name) for name in config.get("architectures") or ()]
    return any(
        found is not None and "transformers" not in getattr(found, "module_name", "")
        for found in classes
    )


def _plain_config(config: dict[str, Any]) -> Any:
    from transformers import PretrainedConfig

    class PlainConfig(PretrainedConfig):
        model_type = config["model_type"]
        attribute_map = {new: old for new, old in _OLD_NAMES.items() if old in config}  # noqa: RUF012

        def __init__(self, **fields: Any) -> None:
            if fields.get("use_sliding_window") is False:
                fields["sliding_window"] = None
            for name, value in fields.items():
                if name.endswith("_config") and isinstance(value, dict) and "model_type" in value:
                    fields[name] = PretrainedConfig(**value)
                elif isinstance(value, list):
                    fields[name] = [_with_attributes(item) for item in value]
            for name, value in fields.items():
                if isinstance(value, int | float):  # transformers reads some while it begins
                    setattr(self, name, value)
            super().__init__(**fields)

    return PlainConfig


class _Fields(dict[str, Any]):
    """An object of config.json whose fields are attributes, as code would make it."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _with_attributes(value: Any) -> Any:
    if isinstance(value, dict):
        return _Fields({name: _with_attributes(item) for name, item in value.items()})
    return value
