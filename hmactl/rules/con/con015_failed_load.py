"""A block that fails to load would end the engine.

What: where a model has several KV cache groups, this vLLM cannot tell which request a failed block
belongs to, whatever `kv_load_failure_policy` says, and the connector reports failures by block.

Why: one load that fails, say from a remote store that is away, ends the engine with all its
requests: "too many values to unpack".

Failing example: LMCacheMPConnector with Gemma 3 on vLLM 0.26.0.

Passing example: the same on vLLM 0.32.0 with LMCache 0.5.6, which reports failures by request.

Source: `_update_requests_with_invalid_blocks` in the installed vLLM;
https://github.com/vllm-project/vllm/issues/50687, https://github.com/vllm-project/vllm/pull/45497.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.plans import chosen_plan

ID = "CON015"
SEVERITY = Severity.INFO


def check(case: Case) -> Iterator[Finding]:
    """One finding where the plan has several groups and a connector reports failed blocks."""
    plan, traits, connector = (
        chosen_plan(case),
        case.facts.answer.traits,
        case.facts.answer.connector,
    )
    if plan is None or connector is None or traits is None or not traits.one_group_load_failures:
        return
    reporting = [
        c.name for c in connector.walk() if c.reports_failed_blocks and c.name != "MultiConnector"
    ]
    if len(plan.groups) < 2 or not reporting:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"a block that {' or '.join(reporting)} fails to load would end vLLM "
        f"{case.facts.answer.versions.vllm}: the model has {len(plan.groups)} KV cache groups",
        "a store that is away for a moment ends the server with all its requests",
        "keep only reliable stores behind the connector, or use vLLM 0.31.0 or newer, where a "
        "connector can report the request instead",
        case.connector_origin,
    )
