"""A serializer takes the bytes of an FP8 KV cache for numbers.

What: vLLM hands an FP8 KV cache on as bytes. `remote_serde: cachegen` quantises them as if each
were a number from 0 to 255, so that another one comes back, often of quite another value.

Why: nothing fails. What is loaded from the store is noise, and so are the answers.

Failing example: `lmcache: {remote_url: ..., remote_serde: cachegen}` with
`vllm: {kv-cache-dtype: fp8}`.

Passing example: the same with `kv-cache-dtype: auto`, or with `remote_serde: naive`.

Source: `CacheGenSerializer` in LMCache 0.5.6, which was given both; `get_kv_cache_torch_dtype` in
vLLM.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC042"
SEVERITY = Severity.ERROR

_SERDE = "remote_serde"
_QUANTISES = "cachegen"
_STORES = ("remote_url", "remote_storage_plugins")


def check(case: Case) -> Iterator[Finding]:
    """One finding where a remote store is there, the serializer, and an FP8 KV cache."""
    settings, config = in_process_settings(case), case.facts.answer.config
    if settings is None or config is None or not config.cache_dtype.startswith("fp8"):
        return
    if settings.values.get(_SERDE) != _QUANTISES or not any(map(settings.values.get, _STORES)):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{as_written(case, _SERDE)} takes the bytes of a KV cache of {config.cache_dtype} for "
        "numbers",
        "what is loaded again is noise, and nothing fails",
        f"`{_SERDE}: naive`, or `kv-cache-dtype: auto`",
        origin_of(case, _SERDE),
    )
