"""The plain values of a profile: what each may be, in an operator's words and as JSON Schema."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from packaging.version import InvalidVersion, Version

from hmactl.deployment.deployment import UNLIMITED
from hmactl.deployment.setting import Json
from hmactl.deployment.size import parse_size
from hmactl.sources.profile_shape import Complaint, Given, Plain

_Check = Callable[[Json], Any]

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_SIZES = [
    {"type": "integer", "minimum": 1},
    {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGTPEkmgtpe][Ii]?)?[Bb]?\s*$"},
]


def text(example: str, *, then: Callable[[str], str] | None = None) -> Plain:
    """Text that is not blank; ``then`` is asked about one."""

    def check(value: Json) -> Any:
        if isinstance(value, str) and value.strip():
            return value if then is None else then(value)
        quote = isinstance(value, bool | int | float)
        raise Complaint(
            "text",
            fix='quote it: `{key}: "{written}"`' if quote else f"write for example `{example}`",
        )

    return Plain(check, _TEXT)


def one_of(words: Sequence[str], *, before: _Check | None = None) -> Plain:
    """One of some words; ``before`` is asked first, about anything."""

    def check(value: Json) -> Any:
        if before is not None:
            before(value)
        if value in words:
            return value
        listed = f"{', '.join(f'`{word}`' for word in words[:-1])} or `{words[-1]}`"
        near = get_close_matches(value.lower(), words, 1) if isinstance(value, str) else []
        fix = f"write `{{key}}: {near[0]}`" if near else f"write {listed}"
        raise Complaint(listed, fix=fix)

    return Plain(check, {"type": "string", "enum": list(words)})


def _policy(value: Json) -> None:
    if isinstance(value, bool):
        intended = "keep" if value else "disable"
        raise Complaint(
            "",
            message="`hma: {written}` is a boolean in YAML, not a policy",
            fix=f"write `hma: {intended}`, or `hma: auto` to let hmactl decide",
        )


def _model(value: str) -> str:
    if value.startswith("-"):
        raise Complaint(
            "a model's name or directory",
            consequence="vLLM would take it for an option",
            fix="write a name such as `google/gemma-3-4b-it`, or a directory such as `./my-model`",
        )
    return value


def _version(value: Json) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Complaint(
            "",
            message="the version `{written}` is a number in YAML, and a number loses final zeros",
            consequence="`0.30` would be compared as `0.3`, which is another version",
            fix='quote it: `{key}: "{written}"`',
        )
    try:
        Version(value if isinstance(value, str) else "")
    except InvalidVersion:
        raise Complaint(
            'a version in quotes, such as `"0.32.0"`', fix='write for example `{key}: "0.32.0"`'
        ) from None
    return value


def _size(value: Json) -> int:
    example = "write for example `{key}: 128 GiB`"
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Complaint("a size such as `128 GiB`, or a whole number of bytes", fix=example)
    try:
        size = parse_size(value)
    except ValueError as error:
        message = f"`{{key}}: {{written}}` is not a size: {error}"
        raise Complaint("", message=message, fix=example) from None
    if size == 0:
        raise Complaint("more than zero bytes", fix=example)
    return size


def _limit(value: Json) -> int:
    if value == "unlimited":
        return UNLIMITED
    try:
        return _size(value)
    except Complaint as complaint:
        complaint.fix = "write for example `{key}: 64 KiB`, or `{key}: unlimited`"
        raise


def _count(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise Complaint("a whole number, 1 or more", fix="write for example `{key}: 1`")


def _switch(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    raise Complaint("`true` or `false`", fix="write `{key}: true` or `{key}: false`")


def _variable(value: Json) -> Any:
    if isinstance(value, str | int | float):
        return value
    if value is None:
        raise Complaint("text", fix='write `{key}: ""` for an empty variable, or remove the line')
    raise Complaint("text or a number", fix='write the text in quotes: `{key}: "..."`')


def _anything(value: Json) -> Json:
    return value


MODEL = text("model: google/gemma-3-4b-it", then=_model)
POLICY = one_of(("auto", "keep", "disable"), before=_policy)
ROLE = one_of(("kv_both", "kv_producer", "kv_consumer"))
VERSION = Given(Plain(_version, {"type": "string"}))
SIZE = Given(Plain(_size, {"anyOf": _SIZES}))
LIMIT = Given(Plain(_limit, {"anyOf": [*_SIZES, {"const": "unlimited"}]}))
COUNT = Plain(_count, {"type": "integer", "minimum": 1})
SWITCH = Plain(_switch, {"type": "boolean"})
VARIABLE = Plain(_variable, {"type": ["string", "number", "boolean"]})
OPTION = Given(
    Plain(_anything, {"type": ["string", "number", "boolean", "array", "object"]}),
    "give it a value (`true` for a flag), or remove the line for the default",
)
