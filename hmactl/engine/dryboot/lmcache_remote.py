"""Whether the installed LMCache has something that understands the address of a remote store."""

import inspect
from typing import Any

from .evidence import words


def refusals(values: dict[str, Any]) -> dict[str, str | None]:
    """Every remote store of those settings, and why LMCache would go on without it; None: it knows.

    Empty where there is none, or where LMCache's own adapters cannot be asked.
    """
    addresses = [values["remote_url"]] if values.get("remote_url") is not None else []
    extra = values.get("extra_config") or {}
    addresses += [
        f"plugin://{plugin}"
        for plugin in values.get("remote_storage_plugins") or ()
        # A plugin of the operator's own is a module, and running it is not for a check.
        if f"remote_storage_plugin.{plugin}.module_path" not in extra
    ]
    adapters = _adapters() if addresses else None
    return {} if adapters is None else {a: _refusal(str(a), adapters) for a in addresses}


def _adapters() -> list[Any] | None:
    try:
        from lmcache.v1.storage_backend.connector import ConnectorManager
    except Exception:  # noqa: BLE001 - it imports what a server has
        return None
    manager = ConnectorManager.__new__(ConnectorManager)
    manager.adapters = []
    discover = getattr(manager, "_remote_adapters_builtin_launcher", None) or getattr(
        manager, "_discover_adapters", None
    )
    if discover is None:
        return None
    discover()
    return manager.adapters or None


def _refusal(address: str, adapters: list[Any]) -> str | None:
    from lmcache.v1.storage_backend.connector import parse_remote_url

    adapter = next((one for one in adapters if one.can_parse(address)), None)
    if adapter is None:
        return f"No adapter found for URL: {address}"
    parses = "parse_remote_url(context.url)" in inspect.getsource(type(adapter))
    if not parses or address.startswith("plugin://"):
        return None
    try:
        parse_remote_url(address)
    except (AssertionError, ValueError) as error:
        return words(error)
    return None
