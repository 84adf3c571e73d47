"""What may stand at a place of a profile. The reader and the JSON Schema are both made of this."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from hmactl.deployment.setting import Json
from hmactl.sources.node import Route

T = TypeVar("T")


class Complaint(ValueError):  # noqa: N818 - it is what an operator reads, not a failure
    """Why a value does not fit.

    ``expected`` completes "must be ..."; ``message`` replaces that whole sentence. In ``message``
    and ``fix``, ``{key}`` stands for the key and ``{written}`` for the value as the file has it.
    """

    def __init__(
        self, expected: str, *, fix: str, message: str | None = None, consequence: str | None = None
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        self.fix = fix
        self.message = message
        self.consequence = consequence


class Misfit(NamedTuple):
    """The value at the end of ``route`` does not fit."""

    route: Route
    complaint: Complaint


class MissingKey(NamedTuple):
    """The mapping at the end of ``route`` lacks ``key``."""

    route: Route
    key: str


class UnknownKey(NamedTuple):
    """The key at the end of ``route`` is none of its mapping's."""

    route: Route


Mistake = Misfit | MissingKey | UnknownKey


class Shape(Protocol):
    """What a value may be."""

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        """What a value means; anything, where mistakes were added."""
        ...


class Key(NamedTuple):
    """A key of a section, as its class is annotated with it."""

    shape: Shape
    description: str
    examples: tuple[Json, ...] = ()


class FurtherKeys(NamedTuple):
    """All keys of a section that are none of the others; ``names`` is a regular expression."""

    shape: Shape
    names: str


class Plain(NamedTuple):
    """A value without parts. ``check`` returns what it means, or raises a Complaint."""

    check: Callable[[Json], Any]
    schema: dict[str, Any]

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        try:
            return self.check(value)
        except Complaint as complaint:
            mistakes.append(Misfit(route, complaint))
            return None


class Given(NamedTuple):
    """What ``shape`` says of a value that is there; ``fix`` is for a key without one."""

    shape: Shape
    fix: str = "give it a value, or remove the line"

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        if value is None:
            mistakes.append(Misfit(route, Complaint("a value", fix=self.fix)))
            return None
        return self.shape.read(value, route, mistakes)


class Items(NamedTuple):
    """A list."""

    shape: Shape

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        if not isinstance(value, list):
            fix = "write its items on lines that begin with `- `"
            mistakes.append(Misfit(route, Complaint("a list", fix=fix)))
            return ()
        return tuple(self.shape.read(one, (*route, i), mistakes) for i, one in enumerate(value))


class Names(NamedTuple):
    """A mapping of free names to values.

    ``names`` and ``other_names`` are regular expressions of names that may and may not stand here,
    which the JSON Schema says; for the reader they are a matter of `profile_names` and
    `profile_conflicts`.
    """

    shape: Shape | None = None
    names: str | None = None
    other_names: str | None = None

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        if not isinstance(value, dict):
            mistakes.append(Misfit(route, _no_mapping()))
            return {}
        if self.shape is None:
            return dict(value)
        read = self.shape.read
        return {key: read(one, (*route, key), mistakes) for key, one in value.items()}


class Section(NamedTuple):
    """A mapping with the keys that a dataclass is annotated with."""

    model: type

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        if not isinstance(value, dict):
            mistakes.append(Misfit(route, _no_mapping()))
            return None
        before = len(mistakes)
        values = _values(self.model, value, route, mistakes)
        return self.model(**values) if len(mistakes) == before else None


class MistakesError(Exception):
    """Everything that is wrong with a section, in its order."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__(f"{len(mistakes)} mistakes")
        self.mistakes = mistakes


def read_section(model: type[T], content: Mapping[str, Json]) -> T:
    """The section that a mapping means. Raises MistakesError."""
    mistakes: list[Mistake] = []
    values = _values(model, content, (), mistakes)
    if mistakes:
        raise MistakesError(mistakes)
    return model(**values)


def _values(
    model: type, content: Mapping[str, Json], route: Route, mistakes: list[Mistake]
) -> dict[str, Any]:
    known, further = keys_of(model), further_of(model)
    values: dict[str, Any] = {}
    for name, key in known.items():
        if name in content:
            values[name] = key.shape.read(content[name], (*route, name), mistakes)
        elif name in required_of(model):
            mistakes.append(MissingKey(route, name))
    others = {name: value for name, value in content.items() if name not in known}
    if further is not None:
        field, keys = further
        read = keys.shape.read
        values[field] = {n: read(one, (*route, n), mistakes) for n, one in others.items()}
    else:
        mistakes += [UnknownKey((*route, name)) for name in others]
    return values


@cache
def keys_of(model: type) -> dict[str, Key]:
    """The keys of a section, in its order."""
    return {name: note for name, note in _notes(model) if isinstance(note, Key)}


@cache
def further_of(model: type) -> tuple[str, FurtherKeys] | None:
    """The field for all other keys of a section, if it takes others."""
    return next(((n, note) for n, note in _notes(model) if isinstance(note, FurtherKeys)), None)


@cache
def required_of(model: type) -> frozenset[str]:
    """The keys that a section cannot do without."""
    return frozenset(
        one.name
        for one in fields(model)
        if one.default is MISSING and one.default_factory is MISSING
    )


def _notes(model: type) -> list[tuple[str, Any]]:
    noted: list[tuple[str, Any]] = [(one.name, one.type) for one in fields(model)]
    return [(name, note) for name, annotated in noted for note in annotated.__metadata__]


def _no_mapping() -> Complaint:
    fix = "write its keys on indented lines below it"
    return Complaint("a mapping of keys and values", fix=fix)
