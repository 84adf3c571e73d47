"""What LMCache's converters make of a value, by the names that the catalogue gives them.

Each raises ValueError for what LMCache says that it cannot read, and another error where LMCache's
own raises one that ends its loader. Of texts, numbers and lists; a mapping stays one.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

_TRUE = frozenset({"true", "1"})
_ADDRESS = "file://"
_FILE = re.compile(f"{_ADDRESS}.*/")
# As LMCache spells the ways to put hidden states together, and the names that it takes for them.
_MODES = {
    "prefix_strict": "prefix_strict",
    "prefixstrict": "prefix_strict",
    "skip_missing_chunks": "skip_missing_chunks",
    "skipmissingchunks": "skip_missing_chunks",
    "legacy": "skip_missing_chunks",
}


def convert(converter: str | None, value: Any) -> Any:
    """The value that a setting of that converter gets; None is kept, as LMCache does."""
    if value is None or converter is None:
        return value
    return _CONVERTERS[converter](value)


def unquoted(text: str) -> str:
    """A variable's text without blanks around it, and without one pair of quotes."""
    text = text.strip()
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "'\"":
        return text
    try:
        literal = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text[1:-1]
    return literal if isinstance(literal, str) else text


def _bool(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() in _TRUE


def _bool_as_it_stands(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in _TRUE


def _list(make: Callable[[Any], Any], alone: type) -> Callable[[Any], list[Any]]:
    def converted(value: Any) -> list[Any]:
        if isinstance(value, list):
            return [make(one) for one in value]
        return [value] if isinstance(value, alone) else [make(one) for one in _parts(str(value))]

    return converted


def _texts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else _parts(value)


def _parts(text: str) -> list[str]:
    return [part for one in text.split(",") if (part := one.strip())]


def _mapping(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    return json.loads(value) if value else None


def _one_text(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if value else []


def _directory(value: Any) -> Any:
    """A path; of a file address with a slash in it, the path."""
    return value.removeprefix(_ADDRESS) if _FILE.match(value) else value


def _directories(value: Any) -> str | None:
    return ",".join(part.removeprefix(_ADDRESS) for part in _parts(str(value))) or None


def _mode(value: Any) -> str:
    written = str(value).strip().lower().replace("-", "_")
    if written not in _MODES:
        raise ValueError(f"{value!r} is none of {', '.join(_MODES)}")
    return _MODES[written]


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": _bool,
    "bool as it stands": _bool_as_it_stands,
    "ints": _list(int, int),
    "floats": _list(float, float),
    "texts": _texts,
    "mapping": _mapping,
    "one text": _one_text,
    "directory": _directory,
    "directories": _directories,
    "retrieve mode": _mode,
}
