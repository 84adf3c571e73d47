"""The serializer of the LMCache server's L2 does not take an FP8 KV cache.

What: vLLM keeps an FP8 KV cache as bytes. TurboQuant packs 16-bit values and cannot read bytes as
numbers. The serializer `fp8` takes each byte for a number from 0 to 255 and rounds it.

Why: with TurboQuant every store to L2 fails while serving looks healthy: nothing is ever written
there, although the metric counts the stores as completed. With `fp8` nothing fails, and what comes
back is noise.

Failing example: `kv-cache-dtype: fp8` with
`l2-adapter: {type: fs, base_path: /cache, serde: {type: turboquant}}`.

Passing example: the same with `kv-cache-dtype: auto`, or without `serde`.

Source: turboquant.py and fp8.py in LMCache 0.5.6, of which the second was given both; https://github.com/LMCache/LMCache/issues/4064.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.serializers import serializers
from hmactl.rules.lms.server import served_connectors

ID = "LMS024"
SEVERITY = Severity.ERROR

_CONSEQUENCES = {
    "turboquant": "every store to L2 fails while serving looks healthy",
    "fp8": "what is loaded from L2 is noise, and nothing fails",
}


def check(case: Case) -> Iterator[Finding]:
    """One finding for each L2 adapter with such a serializer."""
    server, config = case.facts.deployment.lmcache_server, case.facts.answer.config
    if server is None or config is None or not served_connectors(case):
        return
    if not config.cache_dtype.startswith("fp8"):
        return
    for setting in server.options:
        if setting.name != "l2-adapter":
            continue
        for name in sorted({str(serde.get("type")) for serde in serializers(setting.value)}):
            if name in _CONSEQUENCES:
                yield Finding(
                    ID,
                    SEVERITY,
                    f"the serializer {name} of `l2-adapter` does not take a KV cache of "
                    f"{config.cache_dtype}",
                    _CONSEQUENCES[name],
                    "no `serde`, or `kv-cache-dtype: auto`",
                    setting.origin,
                )
