"""Make the frozen dataclasses of an answer out of the JSON that stands for it."""

import types
import typing
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, cast

T = TypeVar("T")

_FURTHER = "further"


class MalformedAnswerError(ValueError):
    """The JSON is not that of such a value."""


def decode(kind: type[T], data: Mapping[str, Any]) -> T:
    """The dataclass ``kind`` from a JSON object.

    Keys that it has no field for are left out; a class with a field ``further`` keeps them there.
    A field that ends in an underscore is named without it in JSON. Raises MalformedAnswerError.
    """
    if not isinstance(data, Mapping):
        raise MalformedAnswerError(f"{kind.__name__} is no object")
    readers = _readers(cast("Hashable", kind))
    values, further = {}, {}
    for key, value in data.items():
        if (reader := readers.get(key)) is None:
            further[key] = value
            continue
        name, read = reader
        try:
            values[name] = read(value)
        except MalformedAnswerError as error:
            raise MalformedAnswerError(f"{key}: {error}") from None
    if _FURTHER in readers:
        values[_FURTHER] = values.get(_FURTHER, {}) | further
    try:
        return kind(**values)
    except TypeError as error:
        raise MalformedAnswerError(str(error)) from None


_Read = Callable[[Any], Any]


@cache
def _readers(kind: Any) -> dict[str, tuple[str, _Read]]:
    hints = typing.get_type_hints(kind)
    readers = {}
    for one in fields(kind):
        reader = (one.name, _reader(hints[one.name]))
        readers[one.name] = readers[one.name.rstrip("_")] = reader
    return readers


def _reader(hint: Any) -> _Read:
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(decode, hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        inner = _reader(next(one for one in arguments if one is not types.NoneType))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return partial(_tuple, _reader(arguments[0]))
    if origin is dict:
        return partial(_dict, _reader(arguments[1]))
    return (lambda value: value) if hint is Any else partial(_scalar, hint)


def _tuple(read: _Read, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise MalformedAnswerError(f"{value!r} is no array")
    return tuple(map(read, value))


def _dict(read: _Read, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedAnswerError(f"{value!r} is no object")
    return {key: read(one) for key, one in value.items()}


def _scalar(kind: type, value: Any) -> Any:
    if isinstance(value, bool) is not (kind is bool):
        raise MalformedAnswerError(f"{value!r} is no {kind.__name__}")
    if kind is float and isinstance(value, int):
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, kind):
        raise MalformedAnswerError(f"{value!r} is no {kind.__name__}")
    return value
