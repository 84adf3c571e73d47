"""HMA is enabled explicitly with a connector that lacks it, for a model that does not need it.

What: all layers of the model share one KV cache group, so HMA changes nothing. But since vLLM 0.13
a connector whose class does not implement `SupportsHMA` is refused where HMA was enabled with
`--no-disable-hybrid-kv-cache-manager`.

Why: vLLM ends when it creates the connector, after it has loaded the weights. (`hma: keep` of a
profile is no such flag: hmactl writes the one that works.)

Failing example: `vllm serve meta-llama/Llama-3.1-8B-Instruct --no-disable-hybrid-kv-cache-manager
--kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'`.

Passing example: the same without that flag.

Source: `KVConnectorFactory.create_connector` of vLLM 0.13.0 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Change, Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.wording import enabling_text
from hmactl.verdict.verdict import HMA_ON, Decision

ID = "HMA011"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the flag as written ends a start for nothing."""
    deployment, hma = case.facts.deployment, case.facts.answer.hma
    if deployment.form is Form.PROFILE or deployment.hma is not HmaPolicy.KEEP:
        return
    if case.verdict.decision is not Decision.IRRELEVANT or hma is None or not hma.explicit_on.on:
        return
    if (said := enabling_text(case)) is None or case.facts.answer.connector is None:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{HMA_ON} is given, and {case.facts.answer.connector.name} does not support HMA",
        said,
        "remove the flag: with one KV cache group HMA changes nothing",
        deployment.hma_origin,
        edit_at(deployment.hma_origin, HMA_ON.removeprefix("--"), "", change=Change.DROP),
    )
