"""Values as Go's templates see them."""

import re

from hmactl.sources.node import Node

_INTEGER = re.compile(r"[+-]?\d{1,18}")


def is_true(node: Node | None) -> bool:
    """What ``if`` makes of a value: empty text, zero and empty lists are false, the text `false`
    is not."""
    return node is not None and bool(node.value or node.children)


def text_of(node: Node) -> str:
    """What ``quote`` and a plain ``{{ }}`` make of a scalar."""
    value = node.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e6 else str(value)
    return str(value) if isinstance(value, int) else node.written


def integer_of(node: Node) -> int:
    """What Sprig's ``int`` makes of a scalar: a fraction is cut, and text that is no whole number
    is 0."""
    value = node.value
    if isinstance(value, bool | int | float):
        return int(value)
    return int(node.written) if _INTEGER.fullmatch(node.written) else 0
