"""No request is long enough to be stored.

What: LMCache stores whole chunks of `chunk_size` tokens, unless `save_unfull_chunk` is on, and
`max-model-len` is less than one of them.

Why: nothing is ever stored, so nothing is ever found.

Failing example: `chunk_size: 4096` with `max-model-len: 2048`.

Passing example: `chunk_size: 256` with the same.

Source: `ReqMeta.from_request_tracker` in LMCache 0.5.6;
https://github.com/LMCache/LMCache/issues/3372, https://github.com/LMCache/LMCache/issues/4094.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Origin
from hmactl.facts.lmcache import option_number
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, number, origin_of
from hmactl.rules.lms.server import served_connectors

ID = "LMC032"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for the chunk of LMCache in the process, and one for its server's."""
    config, settings = case.facts.answer.config, in_process_settings(case)
    if config is None:
        return
    longest = config.max_model_len
    if settings is not None and settings.values.get("save_unfull_chunk") is False:
        size = number(settings, "chunk_size")
        if size is not None and size > longest:
            yield _finding("chunk_size", size, longest, origin_of(case, "chunk_size"))
    server = case.facts.deployment.lmcache_server
    if server is None or not served_connectors(case):
        return
    setting = server.option("chunk-size")
    tokens = None if setting is None else option_number(setting.value)
    if setting is not None and tokens is not None and tokens > longest:
        yield _finding("chunk-size", tokens, longest, setting.origin)


def _finding(name: str, size: float, longest: int, origin: Origin) -> Finding:
    return Finding(
        ID,
        SEVERITY,
        f"a chunk of {size:,.0f} tokens is longer than any request (`max-model-len` {longest:,})",
        "nothing is ever stored, so nothing is ever found",
        f"`{name}` far below {longest:,}",
        origin,
    )
