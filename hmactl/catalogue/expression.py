"""Conditions in the catalogue: a small part of Python's expressions, evaluated over settings.

They are read from source, and never run as code: what is not listed here is no expression.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


class NotAnExpressionError(Exception):
    """A text that has more in it than such a condition."""


class UnknownNameError(Exception):
    """The value of a name is not known, and the expression hangs on it."""


@cache
def parse(text: str) -> ast.expr:
    """The parsed condition. Raises NotAnExpressionError for anything else."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        raise NotAnExpressionError(text) from None
    _check(node)
    return node


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """Its value; raises UnknownNameError, and what Python raises for values that do not fit."""
    return _value(parse(text), names)


def _check(node: ast.expr) -> None:
    match node:
        case ast.Name() | ast.Constant():
            return
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            inner = parts
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            inner = [left, right]
        case ast.Subscript(value=holder, slice=ast.Constant()):
            inner = [holder]
        case ast.Call(func=ast.Name(id="bool"), args=[argument], keywords=[]):
            inner = [argument]
        case ast.Call(
            func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant()], keywords=[]
        ):
            inner = [holder]
        case _:
            raise NotAnExpressionError(ast.unparse(node))
    for part in inner:
        _check(part)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if name not in names:
                raise UnknownNameError(name)
            return names[name]
        case ast.BoolOp(op=ast.And(), values=parts):
            return _junction(parts, names, stops_at=False)
        case ast.BoolOp(values=parts):
            return _junction(parts, names, stops_at=True)
        case ast.UnaryOp(operand=operand):
            return not _value(operand, names)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARE[type(op)](_value(left, names), _value(right, names))
        case ast.Tuple(elts=parts):
            return tuple(_value(part, names) for part in parts)
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Subscript(value=holder, slice=ast.Constant(value=key)):
            return _value(holder, names)[key]
        case ast.Call(func=ast.Attribute(value=holder), args=[ast.Constant(value=key)]):
            return _value(holder, names).get(key)
        case ast.Call(args=[argument]):
            return bool(_value(argument, names))
    raise NotAnExpressionError(ast.unparse(node))


def _junction(parts: list[ast.expr], names: Mapping[str, Any], *, stops_at: bool) -> Any:
    value: Any = not stops_at
    for part in parts:
        value = _value(part, names)
        if bool(value) is stops_at:
            break
    return value
