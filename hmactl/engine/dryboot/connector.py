"""Which connector class really loads, and whether it supports HMA, as the engine's factory says."""

import importlib
import inspect
from typing import Any

_MULTI = "MultiConnector"


def describe(transfer: Any) -> dict[str, Any]:
    """The connector of one ``KVTransferConfig``, with MultiConnector's children.

    ``supports_hma`` is None where the class cannot be imported; ``error`` then says why.
    """
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    described: dict[str, Any] = {
        "name": transfer.kv_connector,
        "role": str(transfer.kv_role),
        "module": None,
        "class": None,
        "file": None,
        "supports_hma": None,
        "error": None,
        "children": [],
    }
    try:
        described["children"] = [describe(child) for child in children(transfer)]
        loaded = KVConnectorFactory.get_connector_class(transfer)
        supports_hma = _supports_hma(KVConnectorFactory, loaded, transfer)
    except Exception as error:  # noqa: BLE001 - an import can fail in any way
        described["error"] = f"{type(error).__name__}: {error}"
        described["old_constructor"] = _has_old_constructor(transfer)
        return described
    return described | {
        "module": loaded.__module__,
        "class": loaded.__qualname__,
        "file": inspect.getsourcefile(loaded),
        "supports_hma": supports_hma,
        "reports_failed_blocks": _overrides(loaded, "get_block_ids_with_load_errors"),
    }


def _has_old_constructor(transfer: Any) -> bool:
    """Whether the class of a module path takes no ``kv_cache_config``, which vLLM refuses."""
    try:
        module = importlib.import_module(transfer.kv_connector_module_path)
        parameters = inspect.signature(getattr(module, transfer.kv_connector)).parameters
    except Exception:  # noqa: BLE001 - then it fails for another reason
        return False
    kinds = {parameter.kind for parameter in parameters.values()}
    return "kv_cache_config" not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds


def registered() -> list[str]:
    """The names in the engine's registry."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    return sorted(KVConnectorFactory._registry)


def with_hma() -> list[dict[str, Any]]:
    """Every registered connector that loads here and supports HMA by itself."""
    from vllm.config import KVTransferConfig

    described = [
        describe(KVTransferConfig(kv_connector=name, kv_role="kv_both"))
        for name in registered()
        if name != _MULTI
    ]
    return [connector for connector in described if connector["supports_hma"]]


def children(transfer: Any) -> list[Any]:
    """The configurations of a MultiConnector's children; none of any other connector."""
    from vllm.config import KVTransferConfig

    if not _is_multi(transfer):
        return []
    children = (transfer.kv_connector_extra_config or {}).get("connectors") or []
    return [KVTransferConfig(**child) for child in children]


def _is_multi(transfer: Any) -> bool:
    """Whether it is MultiConnector, or a class of a module path that descends from it."""
    if transfer.kv_connector == _MULTI or not transfer.kv_connector_module_path:
        return bool(transfer.kv_connector == _MULTI)
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
    from vllm.distributed.kv_transfer.kv_connector.v1.multi_connector import MultiConnector

    loaded = KVConnectorFactory.get_connector_class(transfer)
    return isinstance(loaded, type) and issubclass(loaded, MultiConnector)


def _overrides(loaded: type, method: str) -> bool:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

    return getattr(loaded, method, None) is not getattr(KVConnectorBase_V1, method, None)


def _supports_hma(factory: Any, loaded: Any, transfer: Any) -> bool:
    """What a start comes to: a descendant of MultiConnector is taken for itself when HMA is decided
    about, but refuses to be created with HMA where a child lacks it."""
    all_children = getattr(loaded, "all_children_support_hma", None)
    if all_children is not None and not all_children(transfer):
        return False
    from vllm.distributed.kv_transfer.kv_connector.v1.base import supports_hma

    inner = [(c, factory.get_connector_class(c)) for c in children(transfer)]
    return bool(supports_hma(loaded)) and all(_supports_hma(factory, c, t) for t, c in inner)
