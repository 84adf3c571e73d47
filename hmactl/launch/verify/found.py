"""What a running server says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hmactl.launch.verify.log import Log
from hmactl.launch.verify.metrics import Metrics, Sample
from hmactl.launch.verify.server import NoAnswerError, Server

_CACHE = "vllm:cache_config_info"


@dataclass(frozen=True, slots=True)
class Cache:
    """One engine's KV cache by its metrics; None where its release does not say."""

    engine: str
    block_size: int | None
    num_blocks: int | None
    tokens: int | None
    concurrency: float | None
    prefix_caching: bool | None


@dataclass(frozen=True, slots=True)
class Connector:
    """The connector in the server's own configuration; ``name`` None: it has none."""

    name: str | None
    module: str | None
    role: str | None
    extra_config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A running server. ``hma_on`` and ``connector`` are None where it does not tell: only one in
    vLLM's development mode (VLLM_SERVER_DEV_MODE=1) does."""

    version: str | None
    models: tuple[str, ...]
    root: str | None
    max_model_len: int | None
    caches: tuple[Cache, ...]
    hma_on: bool | None
    connector: Connector | None
    log: Log | None

    @property
    def smallest(self) -> Cache | None:
        """The cache of the engine that has the fewest blocks."""
        known = [cache for cache in self.caches if cache.num_blocks is not None]
        return min(known, key=lambda cache: cache.num_blocks or 0, default=None)


def read_found(server: Server, log: Log | None) -> Found:
    """Ask a server for everything that it says. Raises NoAnswerError where it is no vLLM."""
    models = _entries(server.json("/v1/models"))
    metrics = Metrics(server.text("/metrics"))
    samples = metrics.samples(_CACHE)
    if not samples:
        raise NoAnswerError(f"/metrics has no {_CACHE}: this is no vLLM server")
    # Adapters are listed beside the model that they are for.
    models = [model for model in models if model.get("parent") is None]
    first: Mapping[str, Any] = models[0] if models else {}
    config = _configuration(server)
    return Found(
        version=_version(server),
        models=tuple(str(model.get("id")) for model in models),
        root=_text(first.get("root")),
        max_model_len=_whole(first.get("max_model_len")),
        caches=tuple(map(_cache, samples)),
        hma_on=_hma(config),
        connector=_connector(config),
        log=log,
    )


def _entries(answer: Any) -> Sequence[Mapping[str, Any]]:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        raise NoAnswerError("/v1/models does not answer as vLLM does")
    return [entry for entry in data if isinstance(entry, dict)]


def _version(server: Server) -> str | None:
    try:
        answer = server.json("/version")
    except NoAnswerError:
        return None
    return _text(answer.get("version")) if isinstance(answer, dict) else None


def _configuration(server: Server) -> Mapping[str, Any]:
    try:
        answer = server.json("/server_info?config_format=json")
    except NoAnswerError:
        return {}
    config = answer.get("vllm_config") if isinstance(answer, dict) else None
    return config if isinstance(config, dict) else {}


def _hma(config: Mapping[str, Any]) -> bool | None:
    scheduler = config.get("scheduler_config")
    if not isinstance(scheduler, dict):
        return None
    disabled = scheduler.get("disable_hybrid_kv_cache_manager")
    return not disabled if isinstance(disabled, bool) else None


def _connector(config: Mapping[str, Any]) -> Connector | None:
    if "kv_transfer_config" not in config:
        return None
    transfer = config["kv_transfer_config"]
    if not isinstance(transfer, dict):
        return Connector(None, None, None, {})
    extra = transfer.get("kv_connector_extra_config")
    return Connector(
        _text(transfer.get("kv_connector")),
        _text(transfer.get("kv_connector_module_path")),
        _text(transfer.get("kv_role")),
        extra if isinstance(extra, dict) else {},
    )


def _cache(sample: Sample) -> Cache:
    labels = sample.labels
    caching = labels.get("enable_prefix_caching")
    return Cache(
        labels.get("engine", "0"),
        _whole(labels.get("block_size")),
        _whole(labels.get("num_gpu_blocks")),
        _whole(labels.get("kv_cache_size_tokens")),
        _number(labels.get("kv_cache_max_concurrency")),
        None if caching not in {"True", "False"} else caching == "True",
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None or number != int(number) else int(number)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if abs(number) < 2**62 else None
