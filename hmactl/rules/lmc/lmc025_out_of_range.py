"""A number of LMCache's is out of range.

What: LMCache converts numbers and does not look at them: a chunk of no tokens, a port beyond 65535,
a share of more than one, a negative size.

Why: what needs the number fails when it is used, or does nothing: with `chunk_size: 0` the first
request ends with "range() arg 3 must not be zero".

Failing example: `lmcache: {chunk_size: 0}`.

Passing example: `lmcache: {chunk_size: 256}`.

Source: where LMCache 0.5.6 uses each of them.

Since: 0.1.0.
"""

import math
from collections.abc import Iterator
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of, written

ID = "LMC025"
SEVERITY = Severity.ERROR

_LARGEST_PORT = 65535
# Least and most that makes sense.
_RANGES: dict[str, tuple[float, float]] = {
    "chunk_size": (1, math.inf),
    "max_local_cpu_size": (0, math.inf),
    "max_local_disk_size": (0, math.inf),
    "reserve_local_cpu_size": (0, math.inf),
    "blocking_timeout_secs": (1, math.inf),
    "lookup_timeout_ms": (1, math.inf),
    "hit_miss_ratio": (0, 1),
    "pd_buffer_size": (1, math.inf),
    "nixl_buffer_size": (1, math.inf),
    "gds_buffer_size": (1, math.inf),
    "pd_proxy_port": (1, _LARGEST_PORT),
    "internal_api_server_port_start": (1, _LARGEST_PORT),
    "pin_timeout_sec": (1, math.inf),
    "pin_check_interval_sec": (1, math.inf),
}
_PORTS = (
    *("p2p_init_ports", "p2p_lookup_ports", "lmcache_worker_ports"),
    *("pd_peer_init_port", "pd_peer_alloc_port", "pd_peer_query_port"),
)


def check(case: Case) -> Iterator[Finding]:
    """One finding for each setting that is written with such a number."""
    if (settings := in_process_settings(case)) is None:
        return
    for key in (*_RANGES, *_PORTS):
        least, most = _RANGES.get(key, (1, _LARGEST_PORT))
        bad = [n for n in _numbers(settings.values.get(key)) if not least <= n <= most]
        if not bad or written(case, key) is None:
            continue
        limit = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
        yield Finding(
            ID,
            SEVERITY,
            f"{as_written(case, key)} is out of range: it is {limit}",
            "LMCache does not say so, and what needs the number fails or does nothing",
            f"`{key}` {limit}",
            origin_of(case, key),
        )


def _numbers(value: Any) -> list[float]:
    values = value if isinstance(value, list) else [value]
    return [n for n in values if isinstance(n, int | float) and not isinstance(n, bool)]
