"""A child of MultiConnector has an engine id of its own.

What: MultiConnector passes its engine id on to each child, also where the child has one, so the
child is given the same field twice.

Why: vLLM ends after loading the weights: "got multiple values for keyword argument 'engine_id'".

Failing example: a MultiConnector with `children: [{name: NixlConnector, options: {engine_id: p}}]`.

Passing example: `options: {engine_id: p}` at the MultiConnector itself.

Source: `_get_connector_classes_and_configs` in vLLM's multi_connector.py, 0.11.1 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON005"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such child."""
    if case.facts.connector is None:
        return
    for child in list(case.facts.connector.walk())[1:]:
        if "engine_id" not in child.options:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"the child {child.name} of MultiConnector has an `engine_id` of its own",
            "vLLM ends after loading the weights: it gives MultiConnector's to each child as well",
            "set `engine_id` at MultiConnector only",
            child.origin,
        )
