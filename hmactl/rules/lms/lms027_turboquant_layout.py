"""TurboQuant does not take this model's KV cache.

What: the serializer wants keys beside values, and the values of one token to be a multiple of its
`head_dim`, 128 unless set. A model with MLA has one latent instead of keys and values.

Why: every store to L2 fails while serving looks healthy.

Failing example: DeepSeek-V3 with
`l2-adapter: {type: fs, base_path: /cache, serde: {type: turboquant}}`.

Passing example: Llama 3.1 8B with the same.

Source: `_validate_layout_shape` of turboquant.py in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.serializers import serializers
from hmactl.rules.lms.server import served_connectors

ID = "LMS027"
SEVERITY = Severity.ERROR

_SERIALIZER = "turboquant"
_HEAD = 128


def check(case: Case) -> Iterator[Finding]:
    """One finding for each adapter whose serializer refuses the model's layers."""
    server = case.facts.deployment.lmcache_server
    if server is None or not served_connectors(case):
        return
    for setting in server.options:
        if setting.name != "l2-adapter":
            continue
        for serde in serializers(setting.value):
            why = _refusal(case, serde) if serde.get("type") == _SERIALIZER else None
            if why is not None:
                yield Finding(
                    ID,
                    SEVERITY,
                    f"the serializer {_SERIALIZER} of `l2-adapter` does not take this model: {why}",
                    "every store to L2 fails while serving looks healthy",
                    "no `serde`, or `serde: {type: fp8}`",
                    setting.origin,
                )


def _refusal(case: Case, serde: dict[str, Any]) -> str | None:
    layers = [layer for stage in case.facts.answer.layers for layer in stage]
    if any("MLA" in layer.spec for layer in layers):
        return "it has MLA, and no keys and values"
    head = serde.get("head_dim", _HEAD)
    for layer in layers:
        extra = layer.further
        heads, size = extra.get("num_kv_heads"), extra.get("head_size")
        if not isinstance(heads, int) or not isinstance(size, int) or not isinstance(head, int):
            continue
        if head > 0 and heads * size % head:
            return f"{heads} x {size} values of a token are no multiple of `head_dim` {head}"
    return None
