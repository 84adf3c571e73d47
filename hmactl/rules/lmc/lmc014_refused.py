"""LMCache refuses its own settings.

What: LMCache checks its settings when the connector is made: what `enable_controller`, `enable_p2p`
or `enable_pd` need, for example. This is its own answer.

Why: vLLM ends when it makes the connector.

Failing example: `lmcache: {enable_controller: true}`.

Passing example: the same with `controller_pull_url`, `controller_reply_url` and
`lmcache_worker_ports`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Area
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, may_be_set

ID = "LMC014"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding with LMCache's own words."""
    settings, deployment = in_process_settings(case), case.facts.deployment
    if settings is None or settings.refusal is None or _is_incomplete(case):
        return
    first = next(iter(deployment.lmcache), None)
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache refuses its settings: {settings.refusal}",
        "vLLM ends when it makes the connector",
        "give what LMCache asks for",
        case.connector_origin if first is None else first.origin,
    )


def _is_incomplete(case: Case) -> bool:
    """Whether settings are missing that LMCache may have asked for."""
    unknown = case.facts.deployment.unknown
    return may_be_set(case) or any(
        u.area is Area.LMCACHE
        or (u.area is Area.ENV and (u.name is None or u.name.startswith("LMCACHE_")))
        for u in unknown
    )
