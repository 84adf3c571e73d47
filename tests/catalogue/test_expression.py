"""Conditions of the catalogue, held to what Python makes of the same text."""

from typing import Any

import pytest

from hmactl.catalogue.expression import (
    NotAnExpressionError,
    UnknownNameError,
    evaluate,
    parse,
)

NAMES: dict[str, Any] = {
    "on": True,
    "off": False,
    "none": None,
    "size": 2.5,
    "role": "receiver",
    "extra": {"a": 1, "b": None},
    "keys": ["a"],
}


@pytest.mark.parametrize(
    "text",
    [
        "on and not off",
        "off or role",
        "on and off and gone",
        "on or gone",
        "none is None",
        "none is not None",
        "size > 2 and size <= 2.5",
        "size < 0",
        "role == 'receiver' and role != 'sender'",
        "role in (None, 'receiver')",
        "keys not in (None, ['b'])",
        "'a' in extra and extra['a'] == 1",
        "extra.get('b') is None",
        "bool(extra['a'])",
        "not extra.get('gone')",
    ],
)
def test_as_python_does(text: str) -> None:
    assert evaluate(text, NAMES) == eval(text, {"__builtins__": {"bool": bool}}, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "on.real",
        "extra.pop('a')",
        "extra.get('a', 1)",
        "[x for x in keys]",
        "lambda: on",
        "size + 1",
        "1 < size < 3",
        "extra[role]",
        "__import__('os')",
        "on if off else none",
        "on; off",
        "",
    ],
)
def test_nothing_else_is_a_condition(text: str) -> None:
    with pytest.raises(NotAnExpressionError):
        parse(text)


def test_what_is_not_known_is_said_where_it_matters() -> None:
    assert evaluate("off and gone", NAMES) is False
    with pytest.raises(UnknownNameError, match="gone"):
        evaluate("on and gone", NAMES)


def test_values_that_do_not_fit_raise_as_in_python() -> None:
    with pytest.raises(TypeError):
        evaluate("none < 0", NAMES)
