"""The connector refuses the KV cache that vLLM plans.

What: a connector looks at the planned KV cache groups when it is made. LMCacheMPConnector cannot
serve Mamba states that are not kept per block, nor cross attention; OffloadingConnector wants its
`block_size` to be a multiple of vLLM's, the same in every group, and Mamba hybrids to have prefix
caching. NIXL takes Mamba states in one of their two layouts only. The words are the
connector's own.

Why: vLLM ends after it has loaded the weights.

Failing example: Qwen3-Next with LMCacheMPConnector and `enable-prefix-caching: false`.

Passing example: the same with prefix caching.

Source: the installed connector's own checks; https://github.com/ai-dynamo/dynamo/issues/13300,
https://github.com/vllm-project/vllm/issues/48919.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.con import plan_refusals
from hmactl.rules.plans import chosen_plan

ID = "CON014"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each thing that a connector, children included, refuses."""
    plan = chosen_plan(case)
    if plan is None:
        return
    for refusal in plan.connector_refusals:
        yield Finding(
            ID,
            SEVERITY,
            f"{refusal.connector} refuses the planned KV cache: {_shorter(refusal.message)}",
            "vLLM ends after loading the weights",
            plan_refusals.change(case, refusal.message) or "change what the message names",
            case.connector_origin,
        )


def _shorter(message: str) -> str:
    """The first of several groups that are refused for the same reason."""
    first, *others = message.split("; group ")
    return first.rstrip(". ") + (f", and {len(others)} more groups" if others else "")
