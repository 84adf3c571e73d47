"""LMCache settings that the connector does not read.

What: `lmcache:`, LMCACHE_CONFIG_FILE and variables such as LMCACHE_CHUNK_SIZE are the settings of
LMCache inside the vLLM process, which only LMCacheConnectorV1 and its kin read. LMCacheMPConnector
takes its settings from `lmcache server`, and other connectors have nothing to do with LMCache.

Why: the settings have no effect.

Failing example: `lmcache: {chunk_size: 256}` with `connector: LMCacheMPConnector`.

Passing example: `lmcache_server: {chunk-size: 256}` with `connector: LMCacheMPConnector`.

Since: 0.1.0.
"""

from collections.abc import Iterator, Sequence

from hmactl.deployment.form import Form
from hmactl.deployment.setting import Setting
from hmactl.engine.answer import ConnectorAnswer
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC003"
SEVERITY = Severity.WARNING

_LISTED = 3
_IN_PROCESS = "LMCacheConnectorV1"


def check(case: Case) -> Iterator[Finding]:
    """One finding at the first setting if no in-process LMCache connector reads them."""
    answer = case.facts.answer
    settings = (*case.facts.deployment.lmcache, *_variables(case))
    if not settings or answer.config is None:
        return
    if answer.connector is not None and _reads(answer.connector):
        return
    name = "no connector" if answer.connector is None else answer.connector.name
    yield Finding(
        ID,
        SEVERITY,
        f"nothing reads {_names(settings)} ({name})",
        "they have no effect",
        f"for LMCacheMPConnector {_of_the_server(case)}; otherwise remove them",
        settings[0].origin,
    )


def _of_the_server(case: Case) -> str:
    if case.facts.deployment.form is Form.PROFILE:
        return "use `lmcache_server:`"
    return "give what is meant to `lmcache server`"


def _variables(case: Case) -> tuple[Setting, ...]:
    settings = case.facts.answer.lmcache
    known = {"LMCACHE_CONFIG_FILE"}
    if settings is not None:
        known |= {f"LMCACHE_{key.upper()}" for key in settings.values}
    return tuple(s for s in case.facts.deployment.env if s.name in known)


def _names(settings: Sequence[Setting]) -> str:
    listed = ", ".join(f"`{s.name}`" for s in settings[:_LISTED])
    more = len(settings) - _LISTED
    return f"{listed} and {more} more LMCache settings" if more > 0 else listed


def _reads(connector: ConnectorAnswer) -> bool:
    # A class that did not load may be LMCache's for all we know.
    if connector.class_ is None or connector.class_.startswith(_IN_PROCESS):
        return True
    return any(_reads(child) for child in connector.children)
