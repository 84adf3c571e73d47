"""Which connector class really loads, and whether it supports HMA, as the engine's factory says."""

import inspect
from typing import Any


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
        return described
    return described | {
        "module": loaded.__module__,
        "class": loaded.__qualname__,
        "file": inspect.getsourcefile(loaded),
        "supports_hma": supports_hma,
        "reports_failed_blocks": _overrides(loaded, "get_block_ids_with_load_errors"),
    }


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
        if name != "MultiConnector"
    ]
    return [connector for connector in described if connector["supports_hma"]]


def children(transfer: Any) -> list[Any]:
    """The configurations of MultiConnector's children; none of any other connector."""
    from vllm.config import KVTransferConfig

    if transfer.kv_connector != "MultiConnector":
        return []
    children = (transfer.kv_connector_extra_config or {}).get("connectors") or []
    return [KVTransferConfig(**child) for child in children]


def _overrides(loaded: type, method: str) -> bool:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

    return getattr(loaded, method, None) is not getattr(KVConnectorBase_V1, method, None)


def _supports_hma(factory: Any, loaded: Any, transfer: Any) -> bool:
    whole_config = getattr(factory, "supports_hma_config", None)
    if whole_config is not None:
        return bool(whole_config(transfer))
    from vllm.distributed.kv_transfer.kv_connector.v1.base import supports_hma

    inner = children(transfer)
    if transfer.kv_connector == "MultiConnector" and inner:
        return all(_supports_hma(factory, factory.get_connector_class(c), c) for c in inner)
    return bool(supports_hma(loaded))
