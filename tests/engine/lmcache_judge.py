"""Run by the engine's interpreter: what the real LMCache says to the settings of each case.

Reads a list of {"name", "environment", "request", "judge"} from standard input. Each case has a
fork of its own, because LMCache keeps its settings in globals. ``judge`` is one of the functions
below, which call LMCache's own code, or null. Writes {name: {"settings", "verdict"}}; a verdict is
LMCache's own words, null where it has no objection.
"""

import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import resp_store

CHUNK, HEAD = 64, 64
# The case that is judged.
CASE: dict[str, Any] = {}


def _config() -> Any:
    module = importlib.import_module("lmcache.integration.vllm.utils")
    return module.lmcache_get_or_create_config()


def _metadata() -> Any:
    import torch

    return types.SimpleNamespace(
        worker_id=0, world_size=1, use_mla=False, kv_dtype=torch.bfloat16, model_name="m"
    )


def pd(config: Any) -> None:
    """The P/D backend of that mode, as far as its own configuration."""
    name = "pd_backend_async" if config.pd_backend_mode == "async" else "pd_backend"
    module = importlib.import_module(f"lmcache.v1.storage_backend.{name}")
    module.PDConfig.from_cache_engine_config(config, _metadata(), 0)


def policy(config: Any) -> None:
    importlib.import_module("lmcache.v1.storage_backend.cache_policy").get_cache_policy(
        config.cache_policy
    )


def serde(config: Any) -> None:
    importlib.import_module("lmcache.v1.storage_backend.naive_serde").CreateSerde(
        config.remote_serde, _metadata(), config
    )


def _chunk(like: str) -> Any:
    """Random keys and values, as a KV cache of that kind keeps them."""
    import torch

    torch.manual_seed(0)
    values = torch.randn(2, 32, CHUNK, HEAD)
    if not like.startswith("fp8"):
        return values.to(torch.bfloat16)
    return values.to(torch.float8_e4m3fn).view(torch.uint8)


def _object(tensor: Any) -> Any:
    import torch

    memory: Any = importlib.import_module("lmcache.v1.memory_management")
    described = memory.MemoryObjMetadata(
        shape=tensor.shape,
        dtype=tensor.dtype,
        address=0,
        phy_size=tensor.numel() * tensor.element_size(),
        ref_count=1,
        fmt=memory.MemoryFormat.KV_2LTD,
    )
    return memory.TensorMemoryObj(tensor.reshape(-1).view(torch.uint8), described, None)


def _close(stored: Any, loaded: Any) -> None:
    """Compression loses a little; another number is another thing."""
    import torch

    if stored.dtype is torch.uint8:
        stored, loaded = (t.view(torch.float8_e4m3fn) for t in (stored, loaded.contiguous()))
    difference = (stored.float() - loaded.reshape(stored.shape).float()).abs().nanmean()
    if difference > 0.2 * stored.float().abs().mean():
        raise ValueError(f"loaded is not what was stored: {difference}")


def _serde_of(config: Any, tensor: Any) -> tuple[Any, Any]:
    metadata = _metadata()
    metadata.model_name, metadata.kv_dtype = "test_model", tensor.dtype
    metadata.kv_shape, metadata.chunk_size = (32, 2, CHUNK, 1, HEAD), CHUNK
    metadata.get_num_groups = lambda: 1
    metadata.get_shapes = lambda *_a: [tensor.shape]
    metadata.get_dtypes = lambda: [tensor.dtype]
    module = importlib.import_module("lmcache.v1.storage_backend.naive_serde")
    return metadata, module.CreateSerde(config.remote_serde, metadata, config)


def exact(config: Any) -> None:
    """The serializer on a chunk of this KV cache, and back."""
    tensor = _chunk(CASE["cache_dtype"])
    _metadata_of, (there, back) = _serde_of(config, tensor)
    _close(tensor, back.deserialize(there.serialize(_object(tensor))).tensor)


def smaller(config: Any) -> None:
    tensor = _chunk("auto")
    _metadata_of, (there, _back) = _serde_of(config, tensor)
    chunk = _object(tensor)
    if config.remote_serde != "naive" and there.serialize(chunk) is chunk:
        raise ValueError("the serializer returns what it is given")


def stored(config: Any) -> None:
    """A chunk through the serializer and LMCache's connector, to a store and back."""
    import asyncio

    redis: Any = importlib.import_module("lmcache.v1.storage_backend.connector.redis_connector")
    mixed = importlib.import_module("lmcache.v1.memory_allocators.mixed_memory_allocator")
    importlib.import_module("lmcache.v1.protocol").init_remote_metadata_info(1)
    tensor = _chunk("auto")
    metadata, (there, back) = _serde_of(config, tensor)
    allocator = mixed.MixedMemoryAllocator(1 << 25)
    memory = types.SimpleNamespace(
        config=config,
        metadata=metadata,
        get_full_chunk_size_bytes=lambda: tensor.numel() * 2,
        allocate=allocator.allocate,
    )

    async def through() -> Any:
        key = types.SimpleNamespace(to_string=lambda: "k")
        if config.remote_url.startswith("resp://"):
            loop = asyncio.get_running_loop()
            connector = redis.RESPConnector("127.0.0.1", resp_store.start(), loop, memory, 1)
        else:
            connector = redis.RedisConnector.__new__(redis.RedisConnector)
            connector.sem, connector.local_cpu_backend = asyncio.Semaphore(1), memory
            connector.connection = resp_store.Dictionary()
        await connector._put(key, there.serialize(_object(tensor)))
        return back.deserialize(await connector._get(key)).tensor

    _close(tensor, asyncio.run(through()))


def _server_serde() -> Any:
    arguments = CASE["request"]["lmcache_server"]
    adapter = json.loads(arguments[arguments.index("--l2-adapter") + 1])
    base = importlib.import_module("lmcache.v1.distributed.serde.base")
    options = {key: value for key, value in adapter["serde"].items() if key != "type"}
    config = base.SerdeConfig(adapter["serde"]["type"], options)
    return importlib.import_module("lmcache.v1.distributed.serde").create_serde_processor(config)


def server_exact(_config: Any) -> None:
    """The serializer of the server's L2 on a chunk of this KV cache, and back."""
    import torch

    processor = _server_serde()
    tensor = _chunk(CASE["cache_dtype"])
    packed = types.SimpleNamespace(tensor=torch.empty(tensor.numel() * 2, dtype=torch.uint8))
    loaded = types.SimpleNamespace(tensor=torch.empty_like(tensor))
    processor._serializer.serialize(types.SimpleNamespace(tensor=tensor), packed, None)
    processor._deserializer.deserialize(packed, loaded, None)
    _close(tensor, loaded.tensor)


def server_layout(_config: Any) -> None:
    """What the serializer of the server's L2 says to a chunk of this shape."""
    import torch

    api = importlib.import_module("lmcache.v1.distributed.api")
    shape = torch.Size((1 if CASE["mla"] else 2, 4, 16, CASE["values"]))
    described = api.MemoryLayoutDesc([shape], [torch.bfloat16])
    _server_serde()._serializer.estimate_serialized_size(described)


def mla(config: Any) -> None:
    importlib.import_module("lmcache.integration.vllm.utils").validate_mla_config(config, True)


def sharding(config: Any) -> None:
    module = importlib.import_module("lmcache.v1.storage_backend.path_sharder")
    module.PathSharder(config.local_disk, config.local_disk_path_sharding, "cpu")


def numa(config: Any) -> None:
    module = importlib.import_module("lmcache.v1.system_detection")
    module.NUMADetector.get_numa_mapping(config)


def lookup(config: Any) -> None:
    module = importlib.import_module("lmcache.v1.lookup_client.factory")
    module.LookupClientFactory.create_lookup_client(config, _metadata())


def remote(config: Any) -> None:
    """The connector to the remote store, with a host memory that is only there."""
    import asyncio

    import torch

    module = importlib.import_module("lmcache.v1.storage_backend.connector")
    for address in [config.remote_url, *(config.remote_storage_plugins or [])]:
        if address is None:
            continue
        plugin = None if address == config.remote_url else address
        url = address if plugin is None else f"plugin://{plugin}"
        metadata = _metadata()
        metadata.chunk_size, metadata.kv_shape = config.chunk_size, (1, 2, config.chunk_size, 1, 8)
        metadata.get_num_groups = lambda: 1
        metadata.get_shapes = lambda *_a: [torch.Size((2, 1, config.chunk_size, 8))]
        metadata.get_dtypes = lambda: [torch.bfloat16]
        memory = types.SimpleNamespace(
            config=config, metadata=metadata, get_full_chunk_size_bytes=lambda: 4096
        )
        manager = module.ConnectorManager(
            url, asyncio.new_event_loop(), memory, config, metadata, plugin
        )
        manager.create_connector()


def chunks(config: Any) -> None:
    """The loop over a prompt's chunks."""
    module = importlib.import_module("lmcache.v1.token_database")
    metadata = _metadata()
    database = module.ChunkedTokenDatabase(config, metadata)
    if not list(database.process_tokens(tokens=list(range(1024)), make_key=False)):
        raise ValueError("nothing is stored of 1,024 tokens")


def p2p(_config: Any) -> None:
    module = importlib.import_module("lmcache.v1.storage_backend.p2p_backend")
    backend = module.P2PBackend.__new__(module.P2PBackend)
    if not backend.contains(object()):
        raise ValueError("P2PBackend.contains: False")


def workers(config: Any) -> None:
    module = importlib.import_module("lmcache.v1.cache_controller.worker")
    metadata = _metadata()
    metadata.world_size = 2
    module.LMCacheWorker(config, metadata, None)


def _judged(case: dict[str, Any]) -> str | None:
    CASE.update(case)
    try:
        globals()[case["judge"]](_config())
    except Exception as error:  # noqa: BLE001 - whatever LMCache raises is its answer
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    import torch  # noqa: F401
    import vllm  # noqa: F401

    # The dry boot's own package, without the rest of hmactl, as it runs in the engine.
    sys.path.insert(0, sys.argv[1])
    settings = importlib.import_module("dryboot.lmcache_settings")
    # Everything that a case needs, once instead of in each fork.
    importlib.import_module("lmcache.integration.vllm.utils")
    importlib.import_module("vllm.utils.hashing")
    importlib.import_module("vllm.v1.core.kv_cache_utils")
    source = importlib.import_module("dryboot.lmcache_source")
    for pattern in (r"LMCACHE_[A-Z0-9_]+", r"lmcache\.[a-z0-9_.]+", r"lmcache\.mp\.[a-z0-9_.]+"):
        source.source_names(pattern)
    answers = {}
    for case in json.load(sys.stdin):
        read, write = os.pipe()
        if os.fork() == 0:
            os.environ.update(case["environment"])
            answer = {
                "settings": settings.effective(case["request"]),
                "verdict": _judged(case) if case["judge"] else None,
            }
            with os.fdopen(write, "w", encoding="utf-8") as out:
                out.write(json.dumps(answer, default=str))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as answered:
            answers[case["name"]] = json.loads(answered.read() or "null")
        os.wait()
    Path(sys.argv[2]).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
