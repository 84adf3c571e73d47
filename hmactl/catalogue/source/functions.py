"""Functions in source: found by name, and told apart by what they do."""

import ast
import hashlib

from hmactl.catalogue.source.modules import Sources


def body(sources: Sources, module: str) -> list[ast.stmt]:
    """The statements of a module; none where there is no such module."""
    tree = sources.tree(module)
    return [] if tree is None else tree.body


def defined(statements: list[ast.stmt], name: str) -> ast.FunctionDef | None:
    """The last function of that name among these statements."""
    found = [n for n in statements if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def place(
    sources: Sources, module: str, name: str, within: ast.FunctionDef | None = None
) -> tuple[str, ast.FunctionDef] | None:
    """The function that a name stands for in a module, or in a function of it, with its module."""
    statements = body(sources, module)
    own = defined(statements, name)
    if own is not None:
        return module, own
    inner = [] if within is None else [n for n in ast.walk(within) if isinstance(n, ast.stmt)]
    for node in (*inner, *statements):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return place(sources, sources.absolute(module, node), alias.name)
    return None


def digest(function: ast.FunctionDef) -> str:
    """The same for functions that do the same, whatever they say about it."""
    return hashlib.sha256(ast.unparse(_bare(function)).encode()).hexdigest()[:16]


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    bare = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(bare, ast.FunctionDef)  # noqa: S101 - for the type checker
    bare.returns = None
    for argument in bare.args.args:
        argument.annotation = None
    for node in ast.walk(bare):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
    if isinstance(bare.body[0], ast.Expr) and isinstance(bare.body[0].value, ast.Constant):
        bare.body = bare.body[1:] or [ast.Pass()]
    return bare
