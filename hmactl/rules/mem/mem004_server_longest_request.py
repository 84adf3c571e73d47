"""The longest request does not fit into the LMCache server's memory.

What: the LMCache server keeps every chunk of all layers of all workers, with MLA of one worker of
each pipeline stage. `l1-size-gb` holds fewer tokens than one request of `max-model-len` may have,
and no L2 is configured.

Why: a request that long can never be found whole.

Failing example: Llama 3.1 8B with `max-model-len: 131072` and `l1-size-gb: 10`.

Passing example: the same with `l1-size-gb: 20`.

Since: 0.1.0.
"""

import math
from collections.abc import Iterator

from hmactl.facts import lmcache_memory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.verdict.verdict import HMA_OFF

ID = "MEM004"
SEVERITY = Severity.WARNING

_GIB = 2**30


def check(case: Case) -> Iterator[Finding]:
    """One finding where the longest request is larger than L1."""
    facts, config = case.facts, case.facts.answer.config
    size, tokens = lmcache_memory.server_memory(facts), lmcache_memory.server_chunk_tokens(facts)
    setting = lmcache_memory.server_option(facts, "l1-size-gb")
    if config is None or size is None or tokens is None or setting is None or _has_l2(case):
        return
    if any("context-parallel" in flag.name for flag in facts.deployment.vllm):
        return  # the workers share the tokens of a request
    on = case.verdict.flag != HMA_OFF
    chunk = lmcache_memory.server_chunk_bytes(facts.answer, tokens, windows=on)
    longest = config.max_model_len
    if not chunk or (fits := lmcache_memory.whole_chunks(size, chunk) * tokens) >= (
        longest // tokens * tokens
    ):
        return
    enough = math.ceil(longest / tokens * chunk / _GIB * 10) / 10
    yield Finding(
        ID,
        SEVERITY,
        f"the LMCache server holds {fits:,} tokens ({size / _GIB:g} GiB at {chunk / tokens:,.0f} "
        f"bytes per token of all workers), and one request may have {longest:,}",
        "the longest requests are never found whole",
        f"`l1-size-gb: {enough:.1f}` for one such request, or a shorter `max-model-len`",
        setting.origin,
    )


def _has_l2(case: Case) -> bool:
    server = case.facts.deployment.lmcache_server
    return server is not None and any(s.name.startswith("l2-") for s in server.options)
