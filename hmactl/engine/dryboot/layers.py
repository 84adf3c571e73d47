"""What the layers of a built model say of their KV cache, wherever this vLLM keeps the question."""

from typing import Any


def settle_block_size(config: Any) -> None:
    """Let the platform fix the block size, where it does so only once the layers exist.

    Other versions have fixed it with the configuration. The platform answers any name, so its
    class is asked.
    """
    from vllm.platforms import current_platform

    if hasattr(type(current_platform), "update_block_size_for_backend"):
        current_platform.update_block_size_for_backend(config)


def kv_cache_specs(config: Any) -> dict[str, Any]:
    """vLLM's KVCacheSpec of each layer that has KV cache of its own."""
    from vllm.config import get_layers_from_vllm_config
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase

    try:
        from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
    except ImportError:
        get_kv_cache_spec = _ask_each
    layers = get_layers_from_vllm_config(config, AttentionLayerBase)
    specs: dict[str, Any] = get_kv_cache_spec(config)
    # Not every version leaves these out in the same place.
    return {
        name: spec
        for name, spec in specs.items()
        if name not in layers or not getattr(layers[name], "kv_sharing_target_layer_name", None)
    }


def _ask_each(config: Any) -> dict[str, Any]:
    from vllm.config import get_layers_from_vllm_config
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase

    layers = get_layers_from_vllm_config(config, AttentionLayerBase)
    specs = {name: layer.get_kv_cache_spec(config) for name, layer in layers.items()}
    return {name: spec for name, spec in specs.items() if spec}


def attention_backends(config: Any) -> list[Any]:
    """The attention backend classes of all layers, each once."""
    try:
        from vllm.distributed.kv_transfer.kv_connector.utils import get_current_attn_backends
    except ImportError:
        from vllm.config import get_layers_from_vllm_config
        from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase

        layers = get_layers_from_vllm_config(config, AttentionLayerBase)
        backends = [layer.get_attn_backend() for layer in layers.values()]
        return list({backend.__qualname__: backend for backend in backends}.values())
    return list(get_current_attn_backends(config))


def backend_name(backend: Any) -> str:
    """The backend's own name for itself; those of Mamba layers have not always had one."""
    try:
        return str(backend.get_name())
    except NotImplementedError:
        return str(backend.__name__)
