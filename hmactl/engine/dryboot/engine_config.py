"""vLLM's own configuration of the deployment, and what it decides about HMA."""

import copy
from typing import Any

from . import remote_code


def create(arguments: Any, *, disable_hma: bool | None = None) -> Any:
    """The ``VllmConfig`` of the parsed command line.

    ``disable_hma`` replaces the operator's flag: False and True are the two explicit flags, None
    leaves it to the engine.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    _leave_out_the_host()
    _allow_cuda_allocator()
    # The engine completes some settings in place.
    engine_args = AsyncEngineArgs.from_cli_args(copy.deepcopy(arguments))
    engine_args.disable_hybrid_kv_cache_manager = (
        _default_flag() if disable_hma is None else disable_hma
    )
    # The batch size defaults depend on who asks; `vllm serve` asks as the API server.
    return engine_args.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)


def _leave_out_the_host() -> None:
    """Older versions compare their swap space with this machine's memory, not the server's."""
    import vllm.config.cache as cache

    if hasattr(cache, "get_cpu_memory"):
        cache.get_cpu_memory = lambda: 1 << 60


def _allow_cuda_allocator() -> None:
    """The allocator of sleep mode is in every build for CUDA, and in none for CPUs."""
    import vllm.config.model as model
    from vllm.platforms import current_platform

    if not current_platform.is_cuda():
        return
    platform: Any = type(current_platform)
    name = "is_cumem_allocator_available"
    if hasattr(model, name):
        setattr(model, name, lambda: True)
    if hasattr(platform, name):
        setattr(platform, name, lambda _self: True)


def operator_flag(arguments: Any) -> bool | None:
    """The operator's own flag; None leaves it to the engine.

    Where the engine's default is False itself, saying so makes no difference to it.
    """
    flag: bool | None = arguments.disable_hybrid_kv_cache_manager
    return None if flag == _default_flag() else flag


def _default_flag() -> bool | None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    default: bool | None = AsyncEngineArgs.disable_hybrid_kv_cache_manager
    return default


def without_weights(arguments: Any, model_directory: str) -> list[str]:
    """Point the parsed command line at a directory that has the model's config and little else.

    Returns what cannot be known that way.
    """
    arguments.model_tag = arguments.model = model_directory
    arguments.load_format = "dummy"
    arguments.skip_tokenizer_init = True
    # Code that comes with a model is never run here.
    unknown = remote_code.read_as_data(model_directory) if arguments.trust_remote_code else []
    arguments.trust_remote_code = False
    return unknown


def inspect_models_in_process() -> None:
    """vLLM looks at a model class in a subprocess, which would not know the virtual GPU."""
    import vllm.model_executor.models.registry as registry

    registry._run_in_subprocess = lambda function: function()


def summary(config: Any) -> dict[str, Any]:
    """The effective values that the KV cache plan and its memory depend on."""
    cache, model = config.cache_config, config.model_config
    parallel, scheduler = config.parallel_config, config.scheduler_config
    text_config = model.hf_text_config
    return {
        "architectures": list(model.architectures),
        "block_size": cache.block_size,
        "cache_dtype": str(cache.cache_dtype),
        "data_parallel_size": parallel.data_parallel_size,
        "dtype": str(model.dtype).removeprefix("torch."),
        "enable_prefix_caching": bool(cache.enable_prefix_caching),
        "enforce_eager": bool(model.enforce_eager),
        "experts_per_token": getattr(text_config, "num_experts_per_tok", None),
        "gpu_memory_utilization": cache.gpu_memory_utilization,
        "hidden_size": getattr(text_config, "hidden_size", None),
        "intermediate_size": _intermediate_size(text_config),
        "kv_cache_memory_bytes": getattr(cache, "kv_cache_memory_bytes", None),
        "mamba_cache_mode": getattr(cache, "mamba_cache_mode", None),
        "max_model_len": model.max_model_len,
        "max_num_batched_tokens": scheduler.max_num_batched_tokens,
        "max_num_seqs": scheduler.max_num_seqs,
        "multimodal": bool(getattr(model, "is_multimodal_model", False)),
        "num_gpu_blocks_override": cache.num_gpu_blocks_override,
        "pipeline_parallel_size": parallel.pipeline_parallel_size,
        "quantization": None if model.quantization is None else str(model.quantization),
        "tensor_parallel_size": parallel.tensor_parallel_size,
        "vocab_size": model.get_vocab_size(),
        "cudagraph_mode": _name(getattr(config.compilation_config, "cudagraph_mode", None)),
        "encoder_decoder": bool(getattr(model, "is_encoder_decoder", False)),
        "sleep_mode": bool(getattr(model, "enable_sleep_mode", False)),
        "speculative": _speculative(config.speculative_config),
        "graph_memory_reserved": _graph_memory_reserved(config),
    }


def _graph_memory_reserved(config: Any) -> bool:
    """Whether this vLLM takes the memory of CUDA graphs off the KV cache's."""
    import vllm.envs as envs

    compilation = config.compilation_config
    mode = getattr(getattr(compilation, "cudagraph_mode", None), "name", "NONE")
    return mode != "NONE" and bool(getattr(envs, "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", False))


def _name(mode: Any) -> str | None:
    return getattr(mode, "name", None)


def _speculative(config: Any) -> dict[str, Any] | None:
    if config is None:
        return None
    return {
        "method": getattr(config, "method", None),
        "num_tokens": getattr(config, "num_speculative_tokens", None),
    }


def _intermediate_size(text_config: Any) -> Any:
    """Of the widest layer: some models say it for each, and some only for their experts."""
    size = getattr(text_config, "intermediate_size", None)
    size = max(size) if isinstance(size, list | tuple) else size
    return getattr(text_config, "moe_intermediate_size", None) if size is None else size
