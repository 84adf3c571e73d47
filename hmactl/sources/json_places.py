"""Where the keys of a JSON text stand, and the connectors that it names."""

import json
import re
from collections.abc import Iterator

from hmactl.deployment.places import Places
from hmactl.deployment.setting import Origin

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_COLON = re.compile(r"\s*:\s*")
# Their values are names that an operator may have misspelt.
_NAMES = frozenset({"kv_connector"})


def json_places(text: str, places: Places | None) -> tuple[tuple[str, Origin], ...]:
    """Each key, and the value of each ``kv_connector``, with its first character's place.

    Without those whose place is not certain, or that are written with escapes.
    """
    return () if places is None else tuple(_found(text, places))


def _found(text: str, places: Places) -> Iterator[tuple[str, Origin]]:
    at = 0
    while (match := _STRING.search(text, at)) is not None:
        at = match.end()
        if (colon := _COLON.match(text, at)) is None:
            continue
        at = colon.end()
        yield from _placed(match, places)
        if match[1] in _NAMES and (value := _STRING.match(text, at)) is not None:
            at = value.end()
            yield from _placed(value, places)


def _placed(match: re.Match[str], places: Places) -> Iterator[tuple[str, Origin]]:
    origin = places.certain(match.start(1))
    if origin is not None and match[1] == json.loads(match[0], strict=False):
        yield match[1], origin
