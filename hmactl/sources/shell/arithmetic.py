"""Whole numbers as a shell reckons with them."""

import operator
from collections.abc import Callable

from hmactl.sources.shell.state import Node

_MAX = 2**63
_MOST_LEVELS = 50


def _divide(a: int, b: int) -> int:
    return int(a / b) if b else 0


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a and b)),
    "||": lambda a, b: int(bool(a or b)),
    "<<": lambda a, b: a << b if 0 <= b < 64 else 0,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else 0,
}


def reckon(node: Node, value_of: Callable[[Node], str | None], level: int = 0) -> int | None:
    """The number that an expression comes to; None where it cannot be known.

    ``value_of`` gives the text of a variable or an expansion, None where it is not known.
    """
    if level > _MOST_LEVELS:
        return None
    children = [child for child in node.children if child.is_named]
    match node.type:
        case "parenthesized_expression" | "arithmetic_expansion" if len(children) == 1:
            return reckon(children[0], value_of, level + 1)
        case "binary_expression" if len(children) == 2:
            sign = next((c.type for c in node.children if c.type in _OPERATORS), None)
            left, right = (reckon(child, value_of, level + 1) for child in children)
            if sign is None or left is None or right is None:
                return None
            result = _OPERATORS[sign](left, right)
            return result if abs(result) < _MAX else None
        case "unary_expression" if len(children) == 1 and node.children[0].type == "-":
            inner = reckon(children[0], value_of, level + 1)
            return None if inner is None else -inner
    text = value_of(node)
    try:
        return None if text is None else int(text, 10)
    except ValueError:
        return None
