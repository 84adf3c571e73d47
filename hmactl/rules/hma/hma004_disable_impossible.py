"""HMA is asked to be off, but the model cannot run without it.

What: `hma: disable` with a model whose KV cache specs cannot be promoted to one type (Mamba, GDN,
linear attention, short convolution beside attention).

Why: the engine ends after it has loaded the weights.

Failing example: `hma: disable` with Qwen3-Next.

Passing example: `hma: auto` with Qwen3-Next.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Change, Edit, Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.wording import asking_text
from hmactl.verdict.verdict import HMA_OFF, Decision

ID = "HMA004"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the policy is disable and the engine does not start so."""
    answer = case.facts.answer
    if case.facts.deployment.hma is not HmaPolicy.DISABLE or answer.plan is None:
        return
    if case.verdict.decision is not Decision.REFUSE or answer.plan.hma_on.error is not None:
        return
    if answer.connector is not None and answer.connector.supports_hma is False:
        return  # HMA002 says it: there, `hma: auto` would not help either
    yield Finding(
        ID,
        SEVERITY,
        case.verdict.reason,
        "vLLM ends after loading the weights",
        asking_text(case, HmaPolicy.AUTO),
        case.facts.deployment.hma_origin,
        _edit(case),
    )


def _edit(case: Case) -> Edit | None:
    deployment = case.facts.deployment
    if deployment.form is Form.PROFILE:
        old, new = str(HmaPolicy.DISABLE), str(HmaPolicy.AUTO)
        return edit_at(deployment.hma_origin, old, new, behind="hma", safe=False)
    flag = HMA_OFF.removeprefix("--")
    return edit_at(deployment.hma_origin, flag, "", safe=False, change=Change.DROP)
