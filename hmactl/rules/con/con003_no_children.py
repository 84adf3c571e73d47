"""MultiConnector has no children.

What: MultiConnector only passes on to the connectors under `children:` (vLLM's
`kv_connector_extra_config.connectors`); without any it has nothing to do.

Why: vLLM ends with an assertion without a message after it has loaded the weights, and its HMA
support cannot be told.

Failing example: `connector: MultiConnector`.

Passing example: `connector: {name: MultiConnector, children: [{name: OffloadingConnector}]}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON003"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where a MultiConnector was configured without children."""
    connector = case.facts.answer.connector
    if connector is None or connector.name != "MultiConnector" or connector.children:
        return
    if connector.error is not None:
        return
    yield Finding(
        ID,
        SEVERITY,
        "MultiConnector has no children",
        "vLLM ends with an assertion after loading the weights",
        "list connectors under `children:`, each with its own role and extra config",
        case.connector_origin,
    )
