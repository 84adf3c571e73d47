"""The longest request does not fit into LMCache's host memory.

What: LMCache keeps the keys and values of all layers for every token, those with a sliding window
too. `max_local_cpu_size` GiB per worker (5 unless set) hold fewer tokens than one request of
`max-model-len` may have, and host memory is the only place where this LMCache stores.

Why: a request that long can never be found whole: while its end is stored, its beginning has to
go, or its end is not stored.

Failing example: Gemma 3 4B with `max-model-len: 75000` and `max_local_cpu_size: 5`.

Passing example: the same with `max_local_cpu_size: 20`.

Since: 0.1.0.
"""

import math
from collections.abc import Iterator

from hmactl.facts.lmcache_memory import chunk_bytes, chunk_tokens, host_memory, whole_chunks
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of, other_tiers

ID = "LMC011"
SEVERITY = Severity.WARNING

_GIB = 2**30


def check(case: Case) -> Iterator[Finding]:
    """One finding where a worker's share of the longest request is larger than its memory."""
    settings, config = in_process_settings(case), case.facts.answer.config
    if settings is None or config is None or other_tiers(settings):
        return
    if any("context-parallel" in setting.name for setting in case.facts.deployment.vllm):
        return  # the workers share the tokens of a request
    memory, chunk = host_memory(case.facts), chunk_tokens(case.facts)
    size = None if chunk is None else chunk_bytes(case.facts, chunk)
    if memory is None or not memory.total or chunk is None or not size:
        return
    if not settings.values.get("local_cpu"):
        return
    store = memory.sizes[0]
    fits = whole_chunks(store, size) * chunk
    longest = config.max_model_len
    if fits >= longest // chunk * chunk:
        return
    enough = math.ceil(longest * size / chunk / _GIB * 10) / 10
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache holds {fits:,} tokens ({store / _GIB:g} GiB at {size / chunk:,.0f} bytes per "
        f"token and worker), and one request may have {longest:,}",
        "the longest requests are never found whole",
        f"`max_local_cpu_size: {enough:.1f}` for one such request, or a shorter `max-model-len`",
        origin_of(case, "max_local_cpu_size"),
    )
