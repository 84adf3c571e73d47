"""A Mamba block is larger than a step.

What: in Mamba cache mode align, vLLM up to 0.26.0 lets a prompt advance by whole blocks only, and
the block is larger than `max-num-batched-tokens`. From 0.18.0 on it says so itself at start-up.

Why: a prompt that is longer than a block is never scheduled: the request hangs for ever.

Failing example: Qwen3-Next on one GPU with `max-num-batched-tokens: 512` on vLLM 0.17.1.

Passing example: the same with 2048.

Source: `Scheduler._mamba_block_aligned_split` of the installed vLLM;
https://github.com/vllm-project/vllm/pull/34445, https://github.com/vllm-project/vllm/pull/36734.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mamba import aligned_block

ID = "HMA007"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where no block fits into a step and the scheduler insists on whole ones."""
    block, traits, config = aligned_block(case), case.facts.answer.traits, case.facts.answer.config
    if block is None or config is None or traits is None or not traits.requires_whole_mamba_blocks:
        return
    if config.max_num_batched_tokens >= block:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`max-num-batched-tokens` {config.max_num_batched_tokens:,} is less than a Mamba block of "
        f"{block:,} tokens",
        "prompts that are longer than a block are never scheduled",
        f"`max-num-batched-tokens: {2 * block - 1}` or more",
        case.flag_origin("max-num-batched-tokens"),
    )
