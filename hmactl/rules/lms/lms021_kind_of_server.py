"""The LMCache server is none that the connector talks to.

What: there are two servers. `lmcache server` serves LMCacheMPConnector, at port 5555. The remote
store that LMCacheConnectorV1 reaches at `lm://` is another program, `lmcache_server` or
`python -m lmcache.v1.server`. Neither understands the other's clients.

Why: the server drops the connection, and nothing is ever stored or found.

Failing example: `connector: LMCacheConnectorV1` with `lmcache_server: {l1-size-gb: 60, ...}`.

Passing example: `connector: LMCacheMPConnector` with the same.

Source: https://github.com/LMCache/LMCache/issues/4213.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import CONNECTORS, all_connectors
from hmactl.rules.lms.server import CONNECTOR

ID = "LMS021"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where a server is described and only connectors of the other kind are there."""
    server, answer = case.facts.deployment.lmcache_server, case.facts.answer
    names = {connector.name for connector in all_connectors(case)}
    if answer.connector is not None:
        names |= {connector.name for connector in answer.connector.walk()}
    if server is None or not names or CONNECTOR in names:
        return
    in_process = sorted(names & CONNECTORS)
    if not in_process:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{in_process[0]} does not talk to the server of `lmcache server`",
        "nothing is ever stored there or found",
        f"`connector: {CONNECTOR}`, or no `lmcache_server:` and what {in_process[0]} needs "
        "under `lmcache:`",
        server.origin,
    )
