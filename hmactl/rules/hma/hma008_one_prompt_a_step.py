"""Long prompts take turns: a step has no room for a second Mamba block.

What: in Mamba cache mode align a prompt advances by whole blocks. Where `max-num-batched-tokens` is
less than two blocks less one, what one prompt leaves of a step is always less than a block, so no
second one advances beside it.

Why: prompts are computed one after the other and GPU time is left unused.

Failing example: Qwen3-Next on one GPU with `max-num-batched-tokens: 1024`.

Passing example: the same with 2048.

Source: `Scheduler._mamba_block_aligned_split` of vLLM 0.15.1 to 0.32.0;
https://github.com/vllm-project/vllm-ascend/issues/16916.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mamba import aligned_block

ID = "HMA008"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where one block fits into a step and two never do."""
    block, config = aligned_block(case), case.facts.answer.config
    if block is None or config is None:
        return
    budget = config.max_num_batched_tokens
    if not block <= budget < 2 * block - 1 or config.max_model_len <= block:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`max-num-batched-tokens` {budget:,} has room for one Mamba block of {block:,} tokens "
        "in a step",
        "prompts longer than that are computed one after the other",
        f"`max-num-batched-tokens: {2 * block - 1}` or more",
        case.flag_origin("max-num-batched-tokens"),
    )
