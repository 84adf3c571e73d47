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

from hmactl.engine.answer import Answer
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import (
    in_process_settings,
    number,
    origin_of,
    other_tiers,
)

ID = "LMC011"
SEVERITY = Severity.WARNING

_GIB = 2**30
# Specs whose pages hold keys and values of every token.
_ATTENTION = frozenset(
    {
        "FullAttentionSpec",
        "SlidingWindowSpec",
        "ChunkedLocalAttentionSpec",
        "MLAAttentionSpec",
    }
)


def check(case: Case) -> Iterator[Finding]:
    """One finding where a worker's share of the longest request is larger than its memory."""
    settings, answer = in_process_settings(case), case.facts.answer
    per_token = bytes_per_token(answer)
    if settings is None or answer.config is None or per_token is None or other_tiers(settings):
        return
    if any("context-parallel" in setting.name for setting in case.facts.deployment.vllm):
        return  # the workers share the tokens of a request
    size, chunk = number(settings, "max_local_cpu_size"), number(settings, "chunk_size")
    if not size or size < 0 or not chunk or chunk < 1 or not settings.values.get("local_cpu"):
        return
    fits = int(size * _GIB / (per_token * chunk)) * int(chunk)
    longest = answer.config.max_model_len
    if fits >= longest // int(chunk) * int(chunk):
        return
    enough = math.ceil(longest * per_token / _GIB * 10) / 10
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache holds {fits:,} tokens ({size:g} GiB at {per_token:,.0f} bytes per token and "
        f"worker), and one request may have {longest:,}",
        "the longest requests are never found whole",
        f"`max_local_cpu_size: {enough:.1f}` for one such request, or a shorter `max-model-len`",
        origin_of(case, "max_local_cpu_size"),
    )


def bytes_per_token(answer: Answer) -> float | None:
    """What one token takes on the worker that has most; None where not all layers are attention."""
    kinds = [kind for stage in answer.layers for kind in stage]
    if not kinds or any(kind.spec not in _ATTENTION for kind in kinds):
        return None
    return max(
        sum(kind.count * kind.page_size_bytes / kind.block_size for kind in stage)
        for stage in answer.layers
    )
