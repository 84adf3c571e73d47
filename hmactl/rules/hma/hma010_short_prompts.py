"""Prompts that are shorter than a Mamba block are never found again.

What: a Mamba hybrid in cache mode align keeps the state at the end of each block only, and its
blocks have hundreds of tokens. The beginning that two prompts share counts by whole blocks.

Why: with short prompts, or short common beginnings, prefix caching and the connector find nothing
and cost memory and time. A test with a short prompt shows 0% and proves nothing.

Failing example: Qwen3-Next with LMCacheMPConnector.

Passing example: Llama 3.1 with LMCacheMPConnector.

Source: the installed vLLM's plan; https://github.com/LMCache/LMCache/issues/4094,
https://github.com/vllm-project/vllm/issues/36010.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mamba import aligned_block

ID = "HMA010"
SEVERITY = Severity.INFO


def check(case: Case) -> Iterator[Finding]:
    """One finding for a connector beside Mamba states in align mode."""
    block, connector = aligned_block(case), case.facts.answer.connector
    if block is None or connector is None:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"prompts with fewer than {block:,} tokens in common find nothing in {connector.name}",
        "Mamba states are only kept at the ends of blocks of that many tokens",
        "nothing, where common beginnings are longer; try it out with a prompt of at least "
        f"{2 * block:,} tokens",
        case.connector_origin,
    )
