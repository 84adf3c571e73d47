"""The connector is not one that this vLLM knows.

What: the name is not in vLLM's registry of connectors and no module path is given.

Why: vLLM ends at start-up with "Unsupported connector type".

Failing example: `connector: LMCacheConectorV1`.

Passing example: `connector: LMCacheConnectorV1`.

Since: 0.1.0.
"""

import difflib
from collections.abc import Iterator, Sequence

from hmactl.catalogue.former_connectors import former_connector
from hmactl.deployment.deployment import Connector
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.misspelt import meant, renamed

ID = "CON001"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, that the registry does not have."""
    registered = case.facts.answer.connectors
    if case.facts.connector is None or not registered:
        return
    for connector in case.facts.connector.walk():
        if connector.module_path or connector.name in registered:
            continue
        former = former_connector(connector.name)
        yield Finding(
            ID,
            SEVERITY,
            f"vLLM {case.facts.answer.versions.vllm} has no connector `{connector.name}`"
            + (f": it {former.why}" if former else ""),
            "vLLM ends at start-up",
            former.instead if former else _like(connector.name, registered),
            connector.origin,
            None if former else renamed(connector, connector.name, _meant(connector, registered)),
        )


def _meant(connector: Connector, registered: Sequence[str]) -> str | None:
    near = difflib.get_close_matches(connector.name, registered, n=2, cutoff=0.8)
    return meant(connector.name, near, ())


def _like(name: str, registered: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, registered, n=3, cutoff=0.6)
    if close:
        return f"similar connectors exist: {', '.join(close)}"
    return f"use one of {', '.join(registered)}, or give its `module_path`"
