"""The model needs HMA, and vLLM itself does not allow it here.

What: a model with Mamba, GDN, linear attention or short convolution layers beside attention cannot
run without the hybrid KV cache manager (HMA), and something other than the connector makes this
vLLM switch it off. Up to 0.19.1 that is `--kv-events-config`, even if it enables no events.

Why: vLLM ends after it has loaded the weights, and with HMA enabled explicitly at configuration.

Failing example: Qwen3-Next with `kv-events-config: {enable_kv_cache_events: true}` on vLLM 0.19.1.

Passing example: the same on vLLM 0.20.2.

Source: the installed vLLM's own decision; https://github.com/ai-dynamo/dynamo/issues/9376.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.verdict.situation import refusal_of_any_plan
from hmactl.verdict.verdict import Decision

ID = "HMA012"
SEVERITY = Severity.ERROR

_EVENTS = "kv-events-config"


def check(case: Case) -> Iterator[Finding]:
    """One finding where neither state of HMA works, and it is not for the connector."""
    answer, deployment = case.facts.answer, case.facts.deployment
    if case.verdict.decision is not Decision.REFUSE or answer.plan is None or answer.hma is None:
        return
    if answer.error is not None or refusal_of_any_plan(answer) is not None:
        return  # ENG001
    if answer.connector is not None and not answer.connector.supports_hma:
        return  # HMA002
    if deployment.hma is HmaPolicy.DISABLE or answer.plan.hma_off.bytes_per_request is not None:
        return  # HMA003 and HMA004
    events = deployment.vllm_setting(_EVENTS)
    yield Finding(
        ID,
        SEVERITY,
        f"the model cannot run without HMA, and vLLM {answer.versions.vllm} does not allow it here",
        "vLLM ends, whichever flag is given",
        "see the engine's warnings in the report for what would have to change"
        if events is None
        else f"remove `{_EVENTS}`, or use vLLM 0.20.0 or newer, where events leave HMA alone",
        deployment.model.origin if events is None else events.origin,
    )
