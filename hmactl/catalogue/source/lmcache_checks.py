"""The checks that LMCache makes of its settings, from the function that makes them.

They come out as steps in its order, each with the conditions ``when`` it is taken: it ``refuses``,
or sets ``key`` ``to`` an expression, or forgets an ``item`` of ``key``. Names in a condition are
settings, or ``user_set``, the keys that were set. LMCache's own words are left out.
"""

import ast
from collections.abc import Iterator
from typing import Any

from hmactl.catalogue.expression import NotAnExpressionError, parse
from hmactl.catalogue.source.hma_rules import NotUnderstoodError

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_USER_SET = "getattr(self, '_user_set_keys', set())"


def checks(function: ast.FunctionDef) -> list[dict[str, Any]]:
    """Raises NotUnderstoodError for a statement of another form."""
    found = list(_steps(function.body, (), {}))
    for step in found:
        for text in (*step["when"], *([step["to"]] if "to" in step else ())):
            try:
                parse(text)
            except NotAnExpressionError:
                raise NotUnderstoodError(f"`{text}` in {function.name}") from None
    return found


def _steps(
    body: list[ast.stmt], when: tuple[str, ...], names: dict[str, ast.expr]
) -> Iterator[dict[str, Any]]:
    for node in body:
        match node:
            case ast.If():
                yield from _steps(node.body, (*when, _text(node.test, names)), names)
                yield from _steps(node.orelse, (*when, _negated(node.test, names)), names)
            case ast.Assert():
                yield {"when": [*when, _negated(node.test, names)], "refuses": True}
            case ast.Raise():
                yield {"when": [*when], "refuses": True}
            case ast.Assign(targets=[ast.Name(id=name)]):
                names[name] = _Plain(names).visit(node.value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=key)]):
                yield {"when": [*when], "key": key, "to": _text(node.value, names)}
            case ast.Delete(targets=[ast.Subscript(value=holder, slice=ast.Constant(value=item))]):
                yield {"when": [*when], "key": _text(holder, names), "item": item}
            case ast.Expr() | ast.Return():
                if isinstance(node, ast.Expr) and not _says(node.value):
                    raise NotUnderstoodError(f"line {node.lineno}: `{ast.unparse(node)}`")
            case _:
                raise NotUnderstoodError(f"line {node.lineno}: `{ast.unparse(node)}`")


def _says(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or ast.unparse(node).startswith("logger.")


def _text(node: ast.expr, names: dict[str, ast.expr]) -> str:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return ast.unparse(_Plain(names).visit(copy))


def _negated(node: ast.expr, names: dict[str, ast.expr]) -> str:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _text(operand, names)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITE:
            opposite = ast.Compare(left, [_OPPOSITE[type(op)]()], [right])
            return _text(opposite, names)
    return _text(ast.UnaryOp(ast.Not(), node), names)


class _Plain(ast.NodeTransformer):
    """Settings by their own names, and local names by what they stand for."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Name(node.attr, ast.Load())
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node) == _USER_SET:
            return ast.Name("user_set", ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._names.get(node.id, node)
