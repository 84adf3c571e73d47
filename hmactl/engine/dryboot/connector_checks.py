"""What connectors refuse of a plan when they are made, asked without making them.

A connector's constructor opens sockets and allocates memory. Some of them check first, in functions
of their own; those are called here, each connector's with the plan that it would be given. One that
does neither is made.
"""

import copy
import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .connector import children
from .evidence import words

_MP = ("lmcache.integration.vllm.lmcache_mp_connector", "LMCacheMPConnector")
_MP_CHECKS = ("validate_mamba_step_alignment", "validate_kv_cache_groups", "validate_dcp_support")
_V1 = "vllm.distributed.kv_transfer.kv_connector.v1"
_OFFLOADING = f"{_V1}.offloading.config"
# Where NIXL's worker is, by release.
_NIXL = (f"{_V1}.nixl.base_worker", f"{_V1}.nixl.worker", f"{_V1}.nixl_connector")
_STATES_OVER_NIXL = "requires DS conv state layout"
_SMALL = {"cpu_bytes_to_use": 1, "cpu_bytes_to_use_per_rank": 1}


def refusals(config: Any, plan: Any) -> list[dict[str, str]]:
    """Name and words of each connector, children included, that would refuse this plan."""
    if getattr(config.kv_transfer_config, "kv_connector", None) is None:
        return []
    return [
        {"connector": transfer.kv_connector, "message": words}
        for transfer in _walk(config.kv_transfer_config)
        for words in _refusals_of(config, transfer, plan)
    ]


def refusals_of_others(config: Any, plan: Any, names: tuple[str, ...]) -> list[dict[str, str]]:
    """The same of connectors that could take the configured one's place, with its role."""
    if not names:
        return []
    from vllm.config import KVTransferConfig

    configured = config.kv_transfer_config
    others = [
        KVTransferConfig(
            kv_connector=name, kv_role=configured.kv_role, engine_id=configured.engine_id
        )
        for name in names
    ]
    return [
        {"connector": other.kv_connector, "message": words}
        for other in others
        for words in _refusals_of(config, other, plan)
    ]


def _refusals_of(config: Any, transfer: Any, plan: Any) -> Iterator[str]:
    own = copy.copy(config)
    own.kv_transfer_config = transfer
    for check, arguments in _checks(own, plan):
        refusal = _refusal(check, arguments)
        if refusal is not None:
            yield refusal


def _refusal(check: Any, arguments: list[Any]) -> str | None:
    try:
        check(*arguments)
    except (AssertionError, ValueError) as error:
        return words(error)
    except Exception:  # noqa: BLE001 - that is no refusal: nothing was learnt
        return None
    return None


def _walk(transfer: Any) -> Iterator[Any]:
    yield transfer
    for child in children(transfer):
        yield from _walk(child)


def _checks(config: Any, plan: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Functions and their arguments, for one connector."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    transfer = config.kv_transfer_config
    try:
        loaded = KVConnectorFactory.get_connector_class(transfer)
    except Exception:  # noqa: BLE001 - said elsewhere
        return
    if (loaded.__module__, loaded.__name__) == _MP:
        module = importlib.import_module(loaded.__module__)
        known = {
            "vllm_config": config,
            "kv_cache_config": plan,
            "n_servers": _servers(transfer.kv_connector_extra_config),
        }
        for name in _MP_CHECKS:
            check = getattr(module, name, None)
            if check is None:
                continue
            wanted = [*inspect.signature(check).parameters]
            if set(wanted) <= set(known):
                yield check, [known[parameter] for parameter in wanted]
    elif loaded.__name__ == "OffloadingConnector":
        try:
            offloading: Any = importlib.import_module(_OFFLOADING)
        except ImportError:
            return
        if hasattr(offloading, "build_offloading_config"):
            yield offloading.build_offloading_config, [config, plan]
    elif loaded.__name__ == "SimpleCPUOffloadConnector":
        yield _make_simple, [loaded, config, plan]
    elif hasattr(loaded, "_validate_kv_cache_config"):
        yield loaded._validate_kv_cache_config, [config, plan]
    elif loaded.__module__.startswith(f"{_V1}.nixl"):
        yield _check_states_over_nixl, [plan]


def _make_simple(loaded: Any, config: Any, plan: Any) -> None:
    """Its scheduler's side only makes a list of its blocks, which is kept short here."""
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole

    own = copy.copy(config)
    own.kv_transfer_config = copy.copy(config.kv_transfer_config)
    extra = dict(own.kv_transfer_config.kv_connector_extra_config or {})
    if "disk_capacity_bytes" in extra:
        extra["disk_capacity_bytes"] = min(1, int(extra["disk_capacity_bytes"]))
    own.kv_transfer_config.kv_connector_extra_config = extra | _SMALL
    loaded(own, KVConnectorRole.SCHEDULER, plan)


def _check_states_over_nixl(plan: Any) -> None:
    """What NIXL's worker asserts between other things, in the words of its source."""
    from vllm.model_executor.layers.mamba.mamba_utils import is_conv_state_dim_first
    from vllm.v1.kv_cache_interface import MambaSpec

    if not any(isinstance(group.kv_cache_spec, MambaSpec) for group in plan.kv_cache_groups):
        return
    files = (importlib.util.find_spec(name) for name in _NIXL)
    texts = (Path(f.origin).read_text("utf-8") for f in files if f is not None and f.origin)
    if not is_conv_state_dim_first() and any(_STATES_OVER_NIXL in text for text in texts):
        raise ValueError(f"Mamba conv transfer {_STATES_OVER_NIXL}: VLLM_SSM_CONV_STATE_LAYOUT=DS")


def _servers(extra: dict[str, Any]) -> int:
    urls = extra.get("lmcache.mp.server_urls") or [None]
    return len(urls) if isinstance(urls, list) else len([u for u in urls.split(",") if u.strip()])
