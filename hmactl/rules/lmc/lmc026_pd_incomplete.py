"""P/D with LMCache lacks an address.

What: besides its role and its buffer, a receiver needs `pd_peer_host`, `pd_peer_init_port` and
`pd_peer_alloc_port`, a sender `pd_proxy_host` and `pd_proxy_port` (unless `pd_backend_mode: sync`
skips the proxy). The role `both` only exists with `pd_backend_mode: sync`.

Why: LMCache's own validation does not look at them. LMCache fails to initialise, and the server
goes on without it.

Failing example: `lmcache: {enable_pd: true, pd_role: sender, pd_buffer_size: 1073741824,
pd_buffer_device: cuda}`.

Passing example: the same with `pd_proxy_host: proxy` and `pd_proxy_port: 7500`.

Source: `PDConfig.from_cache_engine_config` of both backends in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, may_be_set, origin_of

ID = "LMC026"
SEVERITY = Severity.ERROR

_PEER = ("pd_peer_host", "pd_peer_init_port", "pd_peer_alloc_port")
_PROXY = ("pd_proxy_host", "pd_proxy_port")


def check(case: Case) -> Iterator[Finding]:
    """One finding for what the role lacks, or where the mode does not have the role."""
    settings = in_process_settings(case)
    if settings is None or not settings.values.get("enable_pd"):
        return
    values = settings.values
    role, mode = values.get("pd_role"), values.get("pd_backend_mode", "sync")
    missing = [key for key in _needed(values) if values.get(key) is None]
    missing = [key for key in missing if key in values and not may_be_set(case, key)]
    if missing:
        yield Finding(
            ID,
            SEVERITY,
            f"the {role} of LMCache's P/D has no {', '.join(f'`{key}`' for key in missing)}",
            "LMCache fails to initialise and the server goes on without it",
            f"give {', '.join(f'`{key}`' for key in missing)}",
            origin_of(case, "pd_role"),
        )
    if role == "both" and mode == "async":
        yield Finding(
            ID,
            SEVERITY,
            "`pd_role: both` does not exist with `pd_backend_mode: async`, LMCache's default",
            "LMCache fails to initialise and the server goes on without it",
            "`pd_backend_mode: sync`, or `sender` or `receiver`",
            origin_of(case, "pd_role"),
        )


def _needed(values: dict[str, Any]) -> tuple[str, ...]:
    match values.get("pd_role"):
        case "receiver" | "both":
            return _PEER
        case "sender":
            # The asynchronous backend, which older versions do not have, never skips the proxy.
            skips = values.get("pd_skip_proxy_notification") and (
                values.get("pd_backend_mode") != "async"
            )
            return () if skips else _PROXY
    return ()
