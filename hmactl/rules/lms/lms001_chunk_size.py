"""The LMCache server's chunk size does not fit vLLM's blocks.

What: every chunk of LMCache has to end where a block ends, in each KV cache group. `chunk-size` of
`lmcache server` (256 unless set) has to be a multiple of every group's block size, that is of
their least common multiple. Mamba hybrids have block sizes such as 544 that depend on the model,
tensor parallel size, KV cache type and vLLM version.

Why: LMCacheMPConnector refuses to register with the server, and vLLM ends after it has loaded the
weights: "LMCache chunk size 256 must be a multiple of group 0 tokens_per_block 544".

Failing example: Qwen3-Next with `lmcache_server: {chunk-size: 256}`.

Passing example: the same with the block size that the report shows as `chunk-size`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding, Severity, edit_at
from hmactl.rules.blocks import group_blocks, misfit
from hmactl.rules.case import Case

ID = "LMS001"
SEVERITY = Severity.ERROR

# LMCache's own default in every version from 0.3.5 to 0.5.6.
_DEFAULT = 256


def check(case: Case) -> Iterator[Finding]:
    """One finding where the chunk size of the server that the profile describes does not fit."""
    server = case.facts.deployment.lmcache_server
    blocks = group_blocks(case)
    if server is None or blocks is None or not case.facts.connector_classes & {SERVED}:
        return
    setting = next((s for s in server.options if s.name == "chunk-size"), None)
    size = _DEFAULT if setting is None else setting.value
    if not isinstance(size, int) or (fit := misfit(size, blocks)) is None:
        return
    default = "" if setting is not None else " (LMCache's default)"
    yield Finding(
        ID,
        SEVERITY,
        f"`chunk-size` {size}{default} of the LMCache server is no multiple of {fit.blocks}",
        "the connector refuses to register, and vLLM ends after loading the weights",
        f"`chunk-size: {fit.nearest}`, or another multiple of {fit.multiple}",
        server.origin if setting is None else setting.origin,
        None
        if setting is None
        else edit_at(setting.origin, str(size), str(fit.nearest), behind=setting.name, safe=False),
    )
