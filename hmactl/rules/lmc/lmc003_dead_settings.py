"""Settings under `lmcache:` that the connector does not read.

What: `lmcache:` holds the settings of LMCache inside the vLLM process, which only
LMCacheConnectorV1 and its kin read. LMCacheMPConnector takes its settings from `lmcache server`,
and other connectors have nothing to do with LMCache.

Why: the settings have no effect.

Failing example: `lmcache: {chunk_size: 256}` with `connector: LMCacheMPConnector`.

Passing example: `lmcache_server: {chunk-size: 256}` with `connector: LMCacheMPConnector`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.engine.answer import ConnectorAnswer
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC003"
SEVERITY = Severity.WARNING

_IN_PROCESS = "LMCacheConnectorV1"


def check(case: Case) -> Iterator[Finding]:
    """One finding at the first setting if no in-process LMCache connector reads them."""
    settings = case.facts.deployment.lmcache
    answer = case.facts.answer
    if not settings or answer.config is None:
        return
    if answer.connector is not None and _reads(answer.connector):
        return
    name = "no connector" if answer.connector is None else answer.connector.name
    yield Finding(
        ID,
        SEVERITY,
        f"nothing reads the {len(settings)} settings under `lmcache:` ({name})",
        "they have no effect",
        "for LMCacheMPConnector use `lmcache_server:`; otherwise remove them",
        settings[0].origin,
    )


def _reads(connector: ConnectorAnswer) -> bool:
    # A class that did not load may be LMCache's for all we know.
    if connector.class_ is None or connector.class_.startswith(_IN_PROCESS):
        return True
    return any(_reads(child) for child in connector.children)
