"""The engine's KV cache plan for a given amount of memory, made by the engine core itself."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import connector_checks
from .evidence import own_fault, words
from .model import Rank, describe_spec

# Enough for any request; only used to learn how many bytes one request needs.
_ROOMY = 1 << 50

_MUTABLE = (
    ("scheduler_config", "disable_hybrid_kv_cache_manager"),
    ("scheduler_config", "enable_chunked_prefill"),
    ("cache_config", "block_size"),
    ("cache_config", "enable_prefix_caching"),
    ("cache_config", "kv_cache_layout"),
    ("cache_config", "num_gpu_blocks"),
    ("cache_config", "num_gpu_blocks_override"),
    ("model_config", "max_model_len"),
)


class _StandIn:
    """Says by itself that the engine asks for something that nobody has foreseen."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"this vLLM asks its {self._of} for `{name}`, which hmactl does not know"
        )

    _of = "engine core"


class _Engine(_StandIn):
    """What ``EngineCore._initialize_kv_caches`` uses of its own object."""

    def __init__(self, config: Any, executor: "_Executor") -> None:
        self.model_executor = executor
        self.available_gpu_memory_for_kv_cache = -1
        self.vllm_config = config
        self.collective_rpc = executor.collective_rpc


class _Executor(_StandIn):
    """What ``EngineCore._initialize_kv_caches`` asks of its workers, one per pipeline stage."""

    _of = "executor"

    def __init__(self, ranks: list[Rank], memory: list[int]) -> None:
        self._ranks = ranks
        self._memory = memory
        self.configs: list[Any] = []

    def get_kv_cache_specs(self) -> list[dict[str, Any]]:
        return [copy.deepcopy(rank.specs) for rank in self._ranks]

    def get_supported_kv_cache_layouts(self) -> list[list[str]]:
        from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts

        return [
            [layout.name for layout in get_supported_kv_cache_layouts(rank.backends)]
            for rank in self._ranks
        ]

    def determine_available_memory(self) -> list[int]:
        return self._memory

    def initialize_from_config(self, configs: list[Any]) -> None:
        self.configs = configs

    def set_kv_cache_layout(self, *_args: Any) -> None: ...

    def compile_or_warm_up_model(self) -> None: ...

    def collective_rpc(self, *_args: Any, **_kwargs: Any) -> list[Any]:
        return []


def make(
    config: Any,
    ranks: list[Rank],
    memory: list[int],
    *,
    disable_hma: bool,
    others: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The plan with HMA on or off for ``memory`` bytes per rank.

    ``others`` are connectors that could take the configured one's place: what they would refuse.

    ``bytes_per_request`` is what one request of max_model_len needs. A refusal by the engine is
    ``error``, in its own words; what could be learnt all the same is still there. Raises where
    hmactl does not know its way in this engine.
    """
    result: dict[str, Any] = {"error": None}
    try:
        length = config.model_config.max_model_len
        result |= _roomy(config, ranks, disable_hma, length, others)
        result |= _with_memory(config, ranks, memory, disable_hma, others)
        if result["max_model_len"] < length:  # --max-model-len auto
            result |= _roomy(config, ranks, disable_hma, result["max_model_len"], others)
    except Exception as error:
        if own_fault(error):
            raise
        # Whatever the engine raises is its answer.
        result["error"] = {
            "type": type(error).__name__,
            "message": words(error),
        }
    return result


def _roomy(
    config: Any, ranks: list[Rank], disable_hma: bool, length: int, others: tuple[str, ...]
) -> dict[str, Any]:
    """What one request of ``length`` tokens needs, where memory is no matter."""
    with _restored(config):
        config.cache_config.num_gpu_blocks_override = None
        config.model_config.max_model_len = length
        plan = _with_memory(config, ranks, [_ROOMY] * len(ranks), disable_hma, others)
    if not plan["groups"]:
        return {"groups": [], "bytes_per_request": None}
    if plan["num_blocks"] and plan["max_concurrency"] is None:
        return {"groups": plan["groups"], "bytes_per_request": None}
    if not plan["num_blocks"] or not plan["max_concurrency"]:
        raise RuntimeError("vLLM plans no blocks at all, whatever the memory")
    # With this many blocks the quotients differ from whole numbers by less than one part.
    block_bytes = _ROOMY // plan["num_blocks"]
    blocks_per_request = round(plan["num_blocks"] / plan["max_concurrency"])
    return {
        "groups": plan["groups"],
        "connector_refusals": plan["connector_refusals"],
        "refusals_of_others": plan["refusals_of_others"],
        "bytes_per_request": blocks_per_request * block_bytes,
    }


def _with_memory(
    config: Any,
    ranks: list[Rank],
    memory: list[int],
    disable_hma: bool,
    others: tuple[str, ...],
) -> dict[str, Any]:
    from vllm.config import set_current_vllm_config
    from vllm.v1.engine.core import EngineCore

    with _restored(config), set_current_vllm_config(config):
        config.scheduler_config.disable_hybrid_kv_cache_manager = disable_hma
        engine: Any = _Engine(config, _Executor(ranks, memory))
        with _listening() as logged:
            planned = EngineCore._initialize_kv_caches(engine, config)
        # Older versions return the numbers of GPU and CPU blocks before it.
        plan = planned[-1] if isinstance(planned, tuple) else planned
        cache = config.cache_config
        tokens = getattr(cache, "kv_cache_size_tokens", None)
        concurrency = getattr(cache, "kv_cache_max_concurrency", None)
        return {
            "num_blocks": plan.num_blocks,
            "tokens": logged.tokens if tokens is None else tokens,
            "max_concurrency": logged.max_concurrency if concurrency is None else concurrency,
            "block_size": cache.block_size,
            "max_model_len": config.model_config.max_model_len,
            "groups": [_group(group) for group in plan.kv_cache_groups],
            "connector_refusals": connector_checks.refusals(config, plan),
            "refusals_of_others": connector_checks.refusals_of_others(config, plan, others),
        }


def missing(plans: dict[str, dict[str, Any]]) -> list[str]:
    """Which figures of the plans this vLLM does not tell, as sentences."""
    return [
        f"the {what} of the plan with {side.replace('hma_', 'HMA ')}: this vLLM neither keeps nor "
        "logs it where hmactl looks"
        for side, plan in plans.items()
        for name, what in (("tokens", "tokens"), ("max_concurrency", "maximum concurrency"))
        if plan.get("num_blocks") and plan.get("groups") and plan.get(name) is None
    ]


class _Logged:
    """What the engine prints of its plan, for versions that keep it nowhere else.

    With several pipeline stages each prints its own; the smallest is what fits.
    """

    def __init__(self) -> None:
        self.tokens: int | None = None
        self.max_concurrency: float | None = None

    def hear(self, message: Any, arguments: tuple[Any, ...]) -> None:
        if message == "GPU KV cache size: %s tokens":
            tokens = int(str(arguments[0]).replace(",", ""))
            self.tokens = tokens if self.tokens is None else min(self.tokens, tokens)
        elif message == "Maximum concurrency for %s tokens per request: %.2fx":
            known, new = self.max_concurrency, float(arguments[1])
            self.max_concurrency = new if known is None else min(known, new)


class _Listener:
    """In the place of a module's logger."""

    def __init__(self, logger: Any, logged: _Logged) -> None:
        self._logger = logger
        self._logged = logged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)

    def info(self, message: Any, *arguments: Any, **_options: Any) -> None:
        self._logged.hear(message, arguments)

    info_once = info


@contextmanager
def _listening() -> Iterator[_Logged]:
    import vllm.v1.core.kv_cache_utils as planner

    logged = _Logged()
    module: Any = planner
    logger = module.logger
    module.logger = _Listener(logger, logged)
    try:
        yield logged
    finally:
        module.logger = logger


def _group(group: Any) -> dict[str, Any]:
    return {"layers": len(group.layer_names)} | describe_spec(group.kv_cache_spec)


@contextmanager
def _restored(config: Any) -> Iterator[None]:
    before = [
        (getattr(config, part), name, getattr(getattr(config, part), name, None))
        for part, name in _MUTABLE
    ]
    try:
        yield
    finally:
        for part, name, value in before:
            if hasattr(part, name):
                setattr(part, name, value)
