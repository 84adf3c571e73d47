"""The serializer of the LMCache server's L2 does not take an FP8 KV cache.

What: TurboQuant packs 16-bit values. vLLM keeps an FP8 KV cache as bytes, which it cannot read as
numbers.

Why: every store to L2 fails while serving looks healthy: nothing is ever written there, although
the metric counts the stores as completed.

Failing example: `kv-cache-dtype: fp8` with
`l2-adapter: {type: fs, base_path: /cache, serde: {type: turboquant}}`.

Passing example: the same with `kv-cache-dtype: auto`, or without `serde`.

Source: turboquant.py in LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/4064.

Since: 0.1.0.
"""

import json
from collections.abc import Iterator
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS024"
SEVERITY = Severity.ERROR

_SERIALIZER = "turboquant"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each L2 adapter with that serializer."""
    server, config = case.facts.deployment.lmcache_server, case.facts.answer.config
    if server is None or config is None or not served_connectors(case):
        return
    if not config.cache_dtype.startswith("fp8"):
        return
    for setting in server.options:
        if setting.name == "l2-adapter" and _SERIALIZER in _serializers(setting.value):
            yield Finding(
                ID,
                SEVERITY,
                f"the serializer {_SERIALIZER} of `l2-adapter` does not take a KV cache of "
                f"{config.cache_dtype}",
                "every store to L2 fails while serving looks healthy",
                "no `serde`, or `kv-cache-dtype: auto`",
                setting.origin,
            )


def _serializers(value: Any) -> set[str]:
    """The types of the serializers in an adapter's configuration, however deep."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return set()
    found, waiting = set(), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            serde = one.get("serde")
            inner = serde if isinstance(serde, list) else [serde]
            found |= {str(s.get("type")) for s in inner if isinstance(s, dict)}
            waiting += one.values()
    return found
