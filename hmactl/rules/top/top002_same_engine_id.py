"""Two servers have the same engine id.

What: connectors that move KV cache keep what they know of each other under the `engine_id`. vLLM
makes a random one unless it is set.

Why: the decode server takes the prefill server for itself: it reads its own memory, or finds
nobody.

Failing example: two documents with NixlConnector and `options: {engine_id: llama}`.

Passing example: `engine_id: prefill` and `engine_id: decode`, or none at all.

Source: `NixlConnectorWorker` in vLLM keeps its own addresses and those of others in one table.

Since: 0.1.0.
"""

from collections.abc import Iterator, Sequence

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.together import pairs

ID = "TOP002"
SEVERITY = Severity.ERROR


def check_together(cases: Sequence[Case]) -> Iterator[tuple[Case, Finding]]:
    """One finding at the decode server of each such pair."""
    for prefill, decode in pairs(cases):
        ids = [
            case.facts.connector.options.get("engine_id")
            for case in (prefill, decode)
            if case.facts.connector is not None
        ]
        if ids[0] is None or ids[0] != ids[1]:
            continue
        yield (
            decode,
            Finding(
                ID,
                SEVERITY,
                f"`engine_id` {ids[0]} is also that of {prefill.facts.deployment.name}",
                "the servers cannot tell each other from themselves",
                "leave `engine_id` out, or give each server its own",
                decode.connector_origin,
            ),
        )
