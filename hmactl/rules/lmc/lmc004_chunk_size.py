"""LMCache's chunk size is no multiple of vLLM's block size.

What: `chunk_size` of LMCache in the vLLM process (256 unless set) and the block size of vLLM's KV
cache do not divide evenly, so chunks end inside of blocks.

Why: neither LMCache nor vLLM says anything about it. vLLM hands out and frees KV cache by whole
blocks, and what is reused should end with one.

Failing example: `chunk_size: 200` where vLLM's block size is 16.

Passing example: `chunk_size: 256` where vLLM's block size is 16.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.facts.lmcache import IN_PROCESS
from hmactl.finding import Finding, Severity, edit_at
from hmactl.rules.blocks import group_blocks, misfit
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import written

ID = "LMC004"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where LMCache's own loader reads a chunk size that does not fit."""
    settings, blocks = case.facts.answer.lmcache, group_blocks(case)
    if settings is None or blocks is None or not case.facts.connector_classes & IN_PROCESS:
        return
    setting = written(case, "chunk_size")
    size = settings.values.get("chunk_size")
    if setting is None or not isinstance(size, int) or (fit := misfit(size, blocks)) is None:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{setting.name}` {size} is no multiple of {fit.blocks}",
        "chunks end inside of vLLM's blocks, and neither LMCache nor vLLM says so",
        f"{fit.nearest}, or another multiple of {fit.multiple}",
        setting.origin,
        edit_at(setting.origin, str(size), str(fit.nearest), behind=setting.name, safe=False),
    )
