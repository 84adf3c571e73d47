"""The connector's class cannot be imported in the interpreter that will serve.

What: the name is known, but importing its module fails, most often because a package that it
needs is not installed.

Why: vLLM ends at start-up with that import error.

Failing example: `connector: MoRIIOConnector` without the package `msgpack`.

Passing example: the same with the package installed.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.con import con004_child_role

ID = "CON002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, whose class does not load."""
    if case.facts.answer.connector is None or any(con004_child_role.check(case)):
        return
    for connector in case.facts.answer.connector.walk():
        if connector.error is None or connector.old_constructor:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"the class of {connector.name} does not load: {connector.error}",
            "vLLM ends at start-up with the same error",
            f"install what it needs into {case.facts.answer.versions.python_path}",
            case.connector_origin,
        )
