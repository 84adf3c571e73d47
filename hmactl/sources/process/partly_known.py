"""A connector's JSON of which a part is not known: what is known of it, and what is not."""

import json
import re
from typing import Any

from hmactl.deployment.setting import Area, Json, Unknown
from hmactl.sources.process.word import Word

# A variable where JSON has a bare value, such as a port.
_BARE = re.compile(r"(?<=[:\[,])(\s*)(\$\{[^{}\"]*\}|\$\([^()\"]*\)|\$\w+)(?=\s*[,}\]])")
_VARIABLE = re.compile(r"\$(\w|\{|\()")
# Without these nothing can be said about the connector.
_NEEDED = frozenset({"kv_connector", "kv_role", "kv_connector_module_path", "connectors"})
_MOST_LEVELS = 20


def partly_known(word: Word) -> tuple[Json, tuple[Unknown, ...]] | None:
    """The object without its unknown parts, and these by their keys; None where too much is."""
    text = _BARE.sub(r'\1"\2"', word.text)
    if not text.lstrip().startswith("{"):
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found: dict[str, str] = {}
    known = _without_unknown(content, "", found, 0)
    if known is None or not found or not _NEEDED.isdisjoint(found):
        return None
    # Each part that is missing must be one of those that were found.
    if any(not any(need in part for part in found.values()) for need in word.needs):
        return None
    unknown = tuple(
        Unknown(Area.CONNECTOR, name, part, word.origin, _needs(word, part))
        for name, part in found.items()
    )
    return known, unknown


def _without_unknown(value: Any, name: str, found: dict[str, str], level: int) -> Any:
    """The value, None where it is not known; ``found`` gets the texts that are not."""
    if level > _MOST_LEVELS:
        return None
    if isinstance(value, str) and _VARIABLE.search(value):
        found[name] = value
        return None
    if isinstance(value, dict):
        kept = {}
        for key, inner in value.items():
            if _VARIABLE.search(key):
                found["connectors"] = key  # any key may be meant
            known = _without_unknown(inner, key, found, level + 1)
            if known is not None or inner is None:
                kept[key] = known
        return kept
    if isinstance(value, list):
        before = len(found)
        kept_items = [_without_unknown(inner, name, found, level + 1) for inner in value]
        return kept_items if len(found) == before or name == "connectors" else None
    return value


def _needs(word: Word, part: str) -> tuple[str, ...]:
    return tuple(need for need in word.needs if need in part)
