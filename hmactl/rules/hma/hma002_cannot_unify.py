"""The connector does not support HMA, and the model cannot run without it.

What: models with Mamba, GDN, linear attention or short convolution layers beside attention have
KV cache specs that vLLM cannot promote to one type. With HMA off, which this connector means, the
engine ends after it has loaded the weights: "Failed to promote local KV cache specs to one
unified type".

Why: no flag helps. Switching HMA on explicitly is overruled up to vLLM 0.12, and since 0.13 ends
in the connector's refusal instead.

Failing example: `connector: LMCacheConnectorV1` with Qwen3-Next.

Passing example: `connector: LMCacheMPConnector` with Qwen3-Next.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.alternatives import alternatives_text
from hmactl.rules.case import Case
from hmactl.rules.wording import enabling_text
from hmactl.verdict.situation import first_line
from hmactl.verdict.verdict import Decision

ID = "HMA002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where neither state of HMA works with this connector."""
    answer = case.facts.answer
    if case.verdict.decision is not Decision.REFUSE or answer.plan is None:
        return
    on, off = answer.plan.hma_on, answer.plan.hma_off
    if answer.connector is None or answer.connector.supports_hma is not False or off.error is None:
        return
    if on.bytes_per_request is None:
        return  # it is not for want of HMA that the engine fails
    kinds = sorted({layer.spec for stage in answer.layers for layer in stage})
    yield Finding(
        ID,
        SEVERITY,
        f"{case.verdict.reason.partition(',')[0]}, and the model cannot run without HMA "
        f"({' beside '.join(kinds)})",
        f"vLLM ends after loading the weights: {first_line(off.error.message)}. No flag helps"
        + (f": {said}" if (said := enabling_text(case)) else ""),
        alternatives_text(case),
        case.connector_origin,
    )
