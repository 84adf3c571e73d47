"""What the installed LMCache stores of one chunk of tokens, by its own metadata.

This is LMCache in the vLLM process. What an LMCache server stores depends on tensors that it is
shown at run time.
"""

import copy
import inspect
from typing import Any

_IN_PROCESS = ("LMCacheConnectorV1", "LMCacheConnectorV1Dynamic")


def concerns(connector: dict[str, Any] | None) -> bool:
    """Whether one of these connectors, as `connector.describe` tells them, is in the process."""
    if connector is None:
        return False
    return connector["name"] in _IN_PROCESS or any(map(concerns, connector["children"]))


def describe(config: Any, values: dict[str, Any]) -> dict[str, Any] | None:
    """Bytes of a whole chunk on a worker of each pipeline stage, and who stores at all.

    ``values`` are LMCache's effective settings. None where this LMCache builds its metadata in a
    way that hmactl does not know.
    """
    try:
        return _describe(config, values)
    except Exception:  # noqa: BLE001 - a fact less; the engine itself is not concerned
        return None


def _describe(config: Any, values: dict[str, Any]) -> dict[str, Any]:
    from lmcache.v1.config import LMCacheEngineConfig

    settings = LMCacheEngineConfig.from_defaults()
    for name in ("chunk_size", "extra_config", "lookup_server_worker_ids", "remote_serde"):
        if name in values:
            setattr(settings, name, values[name])
    parallel = config.parallel_config
    stages = [
        _metadata(_as_rank(config, stage * parallel.tensor_parallel_size), settings)
        for stage in range(parallel.pipeline_parallel_size)
    ]
    tokens = settings.chunk_size
    return {
        "tokens": tokens,
        "bytes_per_stage": [_chunk_bytes(metadata, tokens) for metadata in stages],
        "mla": bool(stages[0].use_mla),
        "storing_ranks": _storing_ranks(settings, values, stages[0], parallel.world_size),
        "takes_what_is_free": stages[0].use_mla and _stores_once(settings) and _looks_at_memory(),
    }


def _as_rank(config: Any, rank: int) -> Any:
    seen = copy.copy(config)
    seen.parallel_config = copy.copy(config.parallel_config)
    seen.parallel_config.rank = rank
    return seen


def _metadata(config: Any, settings: Any) -> Any:
    # As the scheduler, because a worker would look for its GPU; the shapes are the same.
    try:
        from lmcache.integration.vllm.vllm_service_factory import VllmServiceFactory
    except ImportError:
        from lmcache.integration.vllm.utils import create_lmcache_metadata

        return create_lmcache_metadata(config)[0]
    return VllmServiceFactory(settings, config, "scheduler").get_or_create_metadata()


def _chunk_bytes(metadata: Any, tokens: int) -> int:
    shapes = metadata.get_shapes(tokens)
    pairs = zip(shapes, metadata.get_dtypes(), strict=True)
    return sum(shape.numel() * dtype.itemsize for shape, dtype in pairs)


def _storing_ranks(
    settings: Any, values: dict[str, Any], metadata: Any, world: int
) -> list[int] | None:
    """The workers that allocate memory; None where MLA makes an exception that is not known here.

    With MLA all workers of a stage have the same keys and values, so the first of all stores for
    them, beside those that answer look-ups.
    """
    everybody = list(range(world))
    if not metadata.use_mla or not _stores_once(settings):
        return everybody
    from lmcache.v1.cache_engine import LMCacheEngine

    if values.get("use_layerwise") or values.get("enable_controller"):
        return everybody
    if "get_lookup_server_worker_ids" not in inspect.getsource(LMCacheEngine.post_init):
        return None
    lookups = settings.get_lookup_server_worker_ids(True, world)
    return sorted({0, *lookups}) if lookups else everybody


def _stores_once(settings: Any) -> bool:
    from lmcache.v1.cache_engine import LMCacheEngine

    if "save_only_first_rank" not in inspect.getsource(LMCacheEngine):
        return False
    return bool(settings.get_extra_config_value("save_only_first_rank", True))


def _looks_at_memory() -> bool:
    from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend

    return hasattr(LocalCPUBackend, "_calculate_effective_cpu_size")
