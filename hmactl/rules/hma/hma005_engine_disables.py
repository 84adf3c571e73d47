"""vLLM itself does not allow HMA in this configuration.

What: besides connectors, vLLM switches the hybrid KV cache manager off for a few combinations
(chunked local attention with EAGLE or without its environment variable, a platform without
support), and refuses an explicit request for it.

Why: the capacity that HMA would have given is lost.

Failing example: Llama 4 with `VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=0`.

Passing example: the same model without that variable.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.wording import capacity_loss
from hmactl.verdict.verdict import Decision

ID = "HMA005"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where HMA is off for a reason of the engine's own."""
    answer = case.facts.answer
    if case.verdict.decision is not Decision.DISABLE or answer.plan is None:
        return
    if case.facts.deployment.hma is HmaPolicy.DISABLE:
        return
    if answer.connector is not None and answer.connector.supports_hma is not True:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{case.verdict.reason.partition(';')[0]}: HMA is disabled",
        capacity_loss(answer.plan),
        "see the engine's warnings in the report for what would have to change",
        case.facts.deployment.model.origin,
    )
