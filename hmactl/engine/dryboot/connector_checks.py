"""What connectors refuse of a plan when they are made, asked without making them.

A connector's constructor opens sockets and allocates memory. Some of them check first, in functions
of their own; those are called here, each connector's with the plan that it would be given.
"""

import copy
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from .connector import children
from .evidence import words

_MP = ("lmcache.integration.vllm.lmcache_mp_connector", "LMCacheMPConnector")
_MP_CHECKS = ("validate_mamba_step_alignment", "validate_kv_cache_groups", "validate_dcp_support")
_OFFLOADING = "vllm.distributed.kv_transfer.kv_connector.v1.offloading.config"


def refusals(config: Any, plan: Any) -> list[dict[str, str]]:
    """Name and words of each connector, children included, that would refuse this plan."""
    if config.kv_transfer_config is None:
        return []
    found = []
    for transfer in _walk(config.kv_transfer_config):
        own = copy.copy(config)
        own.kv_transfer_config = transfer
        for check, arguments in _checks(own, plan):
            refusal = _refusal(check, arguments)
            if refusal is not None:
                found.append({"connector": transfer.kv_connector, "message": refusal})
    return found


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


def _servers(extra: dict[str, Any]) -> int:
    urls = extra.get("lmcache.mp.server_urls") or [None]
    return len(urls) if isinstance(urls, list) else len([u for u in urls.split(",") if u.strip()])
