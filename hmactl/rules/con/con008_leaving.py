"""The connector is gone from later versions of vLLM, or is being given up.

What: vLLM removes connectors between versions, and projects give theirs up: P2pNcclConnector is
gone since 0.24.0, SharedStorageConnector became ExampleConnector in 0.13.0, Dynamo's connector
(KVBM) gets no support for hybrid models any more.

Why: it works today and does not start after an update.

Failing example: `connector: P2pNcclConnector` on vLLM 0.23.0.

Passing example: `connector: NixlConnector`.

Source: the registries of vLLM 0.11.1 to 0.33.0;
https://github.com/ai-dynamo/dynamo/issues/13755.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.former_connectors import former_connector
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON008"
SEVERITY = Severity.INFO


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, that has no future."""
    registered = case.facts.answer.connectors
    if case.facts.connector is None or not registered:
        return
    for connector in case.facts.connector.walk():
        former = former_connector(connector.name)
        if former is None or not (connector.name in registered or connector.module_path):
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"{connector.name} {former.why}",
            "it works here, and will not after an update",
            former.instead,
            connector.origin,
        )
