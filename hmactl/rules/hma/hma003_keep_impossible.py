"""`hma: keep` is asked for and cannot be done.

What: the deployment insists on the hybrid KV cache manager, but the connector or the engine does
not allow it.

Why: `keep` exists so that capacity is never lost silently; hmactl refuses instead of disabling.

Failing example: `hma: keep` with `connector: LMCacheConnectorV1` and Gemma 3.

Passing example: `hma: auto`, or `hma: keep` with `connector: LMCacheMPConnector`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Finding, Severity
from hmactl.rules.alternatives import alternatives_text
from hmactl.rules.case import Case
from hmactl.rules.wording import asking_text, capacity_loss, enabling_text
from hmactl.verdict.verdict import Decision

ID = "HMA003"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the policy is keep, the model could run without, and HMA cannot be kept."""
    plan = case.facts.answer.plan
    if case.facts.deployment.hma is not HmaPolicy.KEEP or plan is None:
        return
    if case.verdict.decision is not Decision.REFUSE or plan.hma_off.bytes_per_request is None:
        return
    said = enabling_text(case)
    yield Finding(
        ID,
        SEVERITY,
        case.verdict.reason,
        f"{said or 'not launched'}. With HMA off: {capacity_loss(plan)}",
        f"{_asking(case)} to accept that, or: {alternatives_text(case)}",
        case.facts.deployment.hma_origin,
    )


def _asking(case: Case) -> str:
    # A profile with `auto` would be told of a better way later on; a flag says what it says.
    profile = case.facts.deployment.form is Form.PROFILE
    return asking_text(case, HmaPolicy.AUTO if profile else HmaPolicy.DISABLE)
