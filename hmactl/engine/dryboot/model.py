"""One rank's share of the model without storage: its layers' KV cache specs and its weights."""

from typing import Any

import torch

from . import draft, equal_routers, fake_group, layers, online_quantization
from .meta import MetaDevice

_SPEC_FIELDS = (
    "num_kv_heads",
    "head_size",
    "dtype",
    "sliding_window",
    "attention_chunk_size",
    "page_size_padded",
    "shapes",
    "mamba_type",
    "cache_dtype_str",
)


class Rank:
    """A pipeline stage of the model, as the first rank of that stage builds it.

    ``specs`` maps layer name to vLLM's KVCacheSpec. ``weights`` is in bytes, before
    ``process_weights_after_loading``, which may repack. ``dummy_reads`` counts values that the
    model read although they do not exist yet.
    """

    def __init__(self, config: Any, stage: int) -> None:
        from vllm.config import set_current_vllm_config
        from vllm.model_executor.model_loader.utils import initialize_model
        from vllm.utils.torch_utils import set_default_torch_dtype

        fake_group.join(config, rank=stage * config.parallel_config.tensor_parallel_size)
        _init_workspace()
        equal_routers.look_once()
        meta = MetaDevice()
        with set_current_vllm_config(config):
            with set_default_torch_dtype(config.model_config.dtype), meta:
                model = initialize_model(config)
                last = stage == config.parallel_config.pipeline_parallel_size - 1
                drafting = draft.build(config) if last else None
            layers.settle_block_size(config)
            self.specs = layers.kv_cache_specs(config)
            self.backends = layers.attention_backends(config)
        self.weights = weight_bytes(model)
        if drafting is not None:
            self.weights += draft.own_weight_bytes(config, drafting, model)
        self.dummy_reads = meta.dummy_reads


def weight_bytes(model: torch.nn.Module) -> int:
    """Bytes of all parameters and buffers, shared ones counted once.

    What vLLM quantises while it loads counts as it is then.
    """
    tensors = {id(t): t for t in [*model.parameters(), *model.buffers()]}
    built: int = sum(t.numel() * t.element_size() for t in tensors.values())
    saved = online_quantization.saved_bytes(model)
    return built - saved


def describe_layers(specs: dict[str, Any]) -> list[dict[str, Any]]:
    """The specs of all layers, equal ones counted together, in the order of their first layer."""
    kinds: dict[str, dict[str, Any]] = {}
    for layer, spec in specs.items():
        described = describe_spec(spec)
        kind = kinds.setdefault(repr(described), described | {"count": 0, "first_layer": layer})
        kind["count"] += 1
    return list(kinds.values())


def describe_spec(spec: Any) -> dict[str, Any]:
    """A KVCacheSpec as JSON: ``block_size`` in tokens, ``page_size_bytes`` per layer and block."""
    described: dict[str, Any] = {
        "spec": type(spec).__name__,
        "block_size": spec.block_size,
        "page_size_bytes": spec.page_size_bytes,
    }
    for name in _SPEC_FIELDS:
        value = getattr(spec, name, None)
        if value is not None:
            described[name] = _plain(value)
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value).removeprefix("torch.")


def _init_workspace() -> None:
    try:
        from vllm.v1.worker.workspace import init_workspace_manager
    except ImportError:  # not every version has a workspace
        return
    init_workspace_manager(torch.device("meta"))
