"""Settings of a part of LMCache that is not switched on.

What: P2P, the controller, P/D and blending each have a switch (`enable_p2p`, ...), the disk a
directory, and their other settings only count with it.

Why: what the settings were meant for does not happen, and LMCache says nothing.

Failing example: `lmcache: {p2p_host: 10.0.0.1, p2p_init_ports: [8200]}`, or
`max_local_disk_size: 100` without `local_disk`.

Passing example: the same with `enable_p2p: true`, or with `local_disk: /mnt/nvme`.

Source: `CreateStorageBackends` and the connector in LMCache 0.5.6;
https://github.com/llm-d/llm-d-deployer/issues/343.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, may_be_set, written

ID = "LMC027"
SEVERITY = Severity.WARNING

# What switches a part on, and the settings that only it reads.
PARTS: dict[str, tuple[str, ...]] = {
    "enable_p2p": ("p2p_host", "p2p_init_ports", "p2p_lookup_ports"),
    "enable_controller": ("controller_pull_url", "controller_reply_url", "lmcache_worker_ports"),
    "enable_pd": (
        *("pd_role", "pd_buffer_size", "pd_peer_host", "pd_peer_init_port"),
        *("pd_peer_alloc_port", "pd_proxy_host", "pd_proxy_port"),
    ),
    "enable_blending": ("blend_recompute_ratios", "blend_check_layers", "blend_special_str"),
    "local_disk": ("max_local_disk_size",),
    "gds_path": ("gds_buffer_size",),
    "maru_path": ("maru_pool_size",),
    "enable_chunk_statistics": (
        *("chunk_statistics_auto_start_statistics", "chunk_statistics_strategy"),
    ),
    "enable_hidden_state_cache": ("max_hidden_state_cpu_size", "hidden_state_layers"),
    "internal_api_server_enabled": ("internal_api_server_port_start",),
}


def check(case: Case) -> Iterator[Finding]:
    """One finding for each part that is set up and off, at the first of its settings."""
    if (settings := in_process_settings(case)) is None:
        return
    for switch, keys in PARTS.items():
        if switch not in settings.values or settings.values[switch] or may_be_set(case, switch):
            continue
        setting = written(case, switch)
        if setting is not None and switch.startswith(("enable_", "internal_")):
            continue  # off on purpose, or read as false, which another rule says
        found = [(key, place) for key in keys if (place := written(case, key)) is not None]
        changed = [
            (key, place)
            for key, place in found
            if settings.values.get(key) not in (settings.defaults.get(key), None, 0)
        ]
        if not changed:
            continue
        key, place = changed[0]
        yield Finding(
            ID,
            SEVERITY,
            f"nothing reads {as_written(case, key)}: `{switch}` is not set",
            "what it was meant for does not happen, and LMCache says nothing about it",
            f"`{switch}: true`" if switch.startswith(("enable_", "internal_")) else f"`{switch}`",
            place.origin,
        )
