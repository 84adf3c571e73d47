"""A setting stands at the wrong place of a MultiConnector.

What: MultiConnector reads nothing of its own extra configuration but the list of its children, and
passes nothing on. The load failure policy is the other way round: vLLM's scheduler reads it of
MultiConnector and never of a child.

Why: the setting has no effect, and nothing says so.

Failing example: `{name: MultiConnector, extra_config: {lmcache.chunk_size: 64}, children: [...]}`.

Passing example: the same `extra_config` at the child LMCacheConnectorV1.

Source: vLLM's multi_connector.py and scheduler.py, 0.11.1 to 0.33.0;
https://github.com/ModelEngine-Group/unified-cache-management/pull/1343.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.deployment import Connector
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON006"
SEVERITY = Severity.WARNING

_MULTI = "MultiConnector"
_POLICY = "kv_load_failure_policy"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such setting."""
    connector = case.facts.connector
    if connector is None:
        return
    for each in connector.walk():
        if each.name == _MULTI and each.module_path is None:
            for key in each.extra_config:
                if key != "connectors":
                    yield _unread(each, f"`{key}`", "move it to the extra config of the child")
        if each is not connector and _POLICY in each.options:
            yield _unread(each, f"`{_POLICY}`", f"set it at {connector.name}")


def _unread(connector: Connector, what: str, fix: str) -> Finding:
    message = f"{what} has no effect at MultiConnector itself"
    if connector.name != _MULTI:
        message = f"{what} has no effect at the child {connector.name} of MultiConnector"
    return Finding(
        ID,
        SEVERITY,
        message,
        "vLLM does not look for it there, and says nothing about it",
        fix,
        connector.origin,
    )
