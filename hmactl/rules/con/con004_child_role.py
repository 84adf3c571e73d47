"""A child of MultiConnector has no role.

What: vLLM makes a configuration of its own for each child. Nothing of MultiConnector's is passed
on but the engine id, so each child needs its own `kv_role`.

Why: vLLM ends at start-up with "Please specify kv_role when kv_connector is set", without the name
of the child; some versions only after loading the weights.

Failing example: `kv-transfer-config` with a MultiConnector and the child
`{"kv_connector": "OffloadingConnector"}`.

Passing example: the child `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}`.

Source: `_get_connector_classes_and_configs` in vLLM's multi_connector.py, 0.11.1 to 0.33.0;
https://github.com/ModelEngine-Group/unified-cache-management/pull/1343.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON004"
SEVERITY = Severity.ERROR

_ROLES = ("kv_producer", "kv_consumer", "kv_both")


def check(case: Case) -> Iterator[Finding]:
    """One finding for each child without a role that vLLM has."""
    if case.facts.connector is None:
        return
    for child in list(case.facts.connector.walk())[1:]:
        if child.role in _ROLES:
            continue
        wrong = child.role not in {"", "None"}
        yield Finding(
            ID,
            SEVERITY,
            f"the child {child.name} of MultiConnector has "
            + (f"the role `{child.role}`, which does not exist" if wrong else "no `kv_role`"),
            "vLLM ends at start-up: MultiConnector's own role is not passed on",
            f"give it one of {', '.join(_ROLES)}; it is usually `kv_both`",
            child.origin,
        )
