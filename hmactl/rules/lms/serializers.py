"""The serializers that the adapters of an LMCache server have: shared by the rules about them."""

import json
from collections.abc import Iterator
from typing import Any


def serializers(value: Any) -> Iterator[dict[str, Any]]:
    """Those in an adapter's configuration, however deep."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            serde = one.get("serde")
            inner = serde if isinstance(serde, list) else [serde]
            yield from (s for s in inner if isinstance(s, dict))
            waiting += one.values()
