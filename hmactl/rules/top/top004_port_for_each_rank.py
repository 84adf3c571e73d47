"""LMCache needs a port for each rank, and the list is shorter.

What: LMCache's lists of ports for P/D and P2P (`pd_peer_init_port`, `pd_peer_alloc_port`,
`p2p_init_ports`, `p2p_lookup_ports`) have one port for each tensor parallel rank, and each rank
takes the one with its number.

Why: the ranks without one end with "list index out of range", and with them vLLM.

Failing example: `tensor-parallel-size: 2` with
`lmcache: {enable_pd: true, pd_peer_init_port: [7300], ...}`.

Passing example: `pd_peer_init_port: [7300, 7301]`.

Source: LMCache 0.5.6, pd_backend.py and p2p_backend.py;
https://github.com/LMCache/LMCache/issues/1381, https://github.com/LMCache/LMCache/issues/1777.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "TOP004"
SEVERITY = Severity.ERROR

_LISTS = {
    "enable_pd": ("pd_peer_init_port", "pd_peer_alloc_port"),
    "enable_p2p": ("p2p_init_ports", "p2p_lookup_ports"),
}


def check(case: Case) -> Iterator[Finding]:
    """One finding for each list in use that is too short."""
    settings, config = in_process_settings(case), case.facts.answer.config
    if settings is None or config is None:
        return
    ranks = config.tensor_parallel_size
    for switch, keys in _LISTS.items():
        for key in keys if settings.values.get(switch) is True else ():
            ports = settings.values.get(key)
            if not isinstance(ports, list) or not 0 < len(ports) < ranks:
                continue
            yield Finding(
                ID,
                SEVERITY,
                f"`{key}` has {len(ports)} port{'s' if len(ports) > 1 else ''} for {ranks} tensor "
                "parallel ranks",
                "the ranks without a port end vLLM at start-up",
                f"one port for each rank, for example "
                f"`{key}: {[int(ports[0]) + n for n in range(ranks)]}`",
                origin_of(case, key),
            )
