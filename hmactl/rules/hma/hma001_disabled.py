"""HMA is disabled because the connector does not support it.

What: the hybrid KV cache manager (HMA) gives layers with a sliding window only the blocks that
they need. A connector whose class does not implement `SupportsHMA` makes vLLM switch it off, with
one warning line among hundreds.

Why: without HMA every layer is given blocks for the whole sequence. Depending on the model, half
to four fifths of the KV cache capacity is gone. Asking for HMA explicitly does not help: vLLM 0.11
and 0.12 overrule the flag, and since 0.13 the start ends when the connector is created, after the
weights were loaded.

Failing example: `connector: LMCacheConnectorV1` with Gemma 3.

Passing example: `connector: LMCacheMPConnector` with Gemma 3.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.alternatives import alternatives_text
from hmactl.rules.case import Case
from hmactl.rules.wording import capacity_loss, enabling_text
from hmactl.verdict.verdict import Decision

ID = "HMA001"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where HMA is off because of the connector, with what that costs."""
    connector = case.facts.answer.connector
    plan = case.facts.answer.plan
    if case.verdict.decision is not Decision.DISABLE or connector is None or plan is None:
        return
    if connector.supports_hma is not False:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{case.verdict.reason.partition(';')[0]}: HMA is disabled",
        "; ".join(filter(None, (capacity_loss(plan), enabling_text(case)))),
        alternatives_text(case),
        case.connector_origin,
    )
