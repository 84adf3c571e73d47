"""The options of an LMCache's server, as its source gives them to its argument parser.

That is `lmcache server`, and before there was one the modules that were started with `python -m`.
"""

import ast
from collections.abc import Iterator
from typing import Any

from hmactl.catalogue.source.functions import body, defined, place
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Found, Sources

COMMAND = ("lmcache.cli.commands.server", "ServerCommand")
MULTIPROCESS = "lmcache.v1.multiprocess"
BEFORE = (f"{MULTIPROCESS}.http_server", f"{MULTIPROCESS}.server")
_ADDS = "add_argument"
_NOTHING = {"store_true", "store_false", "store_const", "count", "help", "version"}
_BOTH = "argparse.BooleanOptionalAction"


def server_options(sources: Sources) -> dict[str, Any]:
    """``options`` by long name without dashes; none where this LMCache has no such server.

    ``takes``, ``aliases`` and ``choices`` are as of vLLM's options; ``type`` is the function that
    converts the value, ``default`` what is taken otherwise, ``default_of`` the expression where it
    is no plain value, ``choices_of`` likewise, and ``required`` where the parser insists.
    """
    return {"options": dict(_options(sources))}


def _options(sources: Sources) -> Iterator[tuple[str, dict[str, Any]]]:
    command = sources.meaning(*COMMAND)
    if not isinstance(command, Found):
        for module in BEFORE:
            function = defined(body(sources, module), "parse_args")
            if function is not None:
                yield from _of_function(sources, module, function, frozenset())
        return
    own = defined(command.node.body, "add_arguments")
    if own is None:
        raise NotUnderstoodError(f"where {COMMAND[1]} adds its arguments")
    yield from _of_function(sources, command.module, own, frozenset())
    # What every command of that program has.
    for base in command.node.bases:
        meaning = sources.base_meaning(command.module, base)
        if isinstance(meaning, Found):
            register = defined(meaning.node.body, "register")
            if register is not None:
                yield from _of_function(sources, meaning.module, register, frozenset())


def _of_function(
    sources: Sources, module: str, function: ast.FunctionDef, seen: frozenset[tuple[str, str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a function adds to a parser, itself and by those that it gives the parser to."""
    seen |= {(module, function.name)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == _ADDS:
            found = _option(sources, module, node)
            if found is not None:
                yield found
        elif isinstance(node.func, ast.Name) and node.func.id.removeprefix("_").startswith("add_"):
            found_at = place(sources, module, node.func.id, function)
            if found_at is None:
                raise NotUnderstoodError(f"what {node.func.id} in {module} adds")
            if (found_at[0], found_at[1].name) not in seen:
                yield from _of_function(sources, *found_at, seen)


def _option(sources: Sources, module: str, call: ast.Call) -> tuple[str, dict[str, Any]] | None:
    """An option and what the parser is told of it; None for a positional argument."""
    written = [node.value for node in call.args if isinstance(node, ast.Constant)]
    if len(written) != len(call.args) or any(k.arg is None for k in call.keywords):
        raise NotUnderstoodError(f"line {call.lineno} of {module} adds an argument otherwise")
    long = [str(one) for one in written if str(one).startswith("--")]
    if not long:
        return None
    told = {str(keyword.arg): keyword.value for keyword in call.keywords}
    action, nargs = _plain(told.get("action")), _plain(told.get("nargs"))
    facts: dict[str, Any] = {"takes": "several" if nargs in {"*", "+"} else "one"}
    aliases = [str(one) for one in written if one != long[0]]
    if action in _NOTHING or action == _BOTH:
        facts["takes"] = "nothing"
    if action == _BOTH:
        aliases.append(f"--no-{long[0][2:]}")
    if aliases:
        facts["aliases"] = sorted(aliases)
    if "type" in told:
        facts["type"] = ast.unparse(told["type"])
    if "default" in told:
        _say(facts, "default", _value(sources, module, told["default"]))
    elif action in {"store_true", "store_false"}:
        facts["default"] = action == "store_false"
    if "choices" in told:
        _say(facts, "choices", _value(sources, module, told["choices"]))
    if _plain(told.get("required")) is True:
        facts["required"] = True
    return long[0][2:], facts


def _say(facts: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, ast.expr):
        facts[f"{name}_of"] = ast.unparse(value)
    else:
        facts[name] = list(value) if isinstance(value, tuple) else value


def _plain(node: ast.expr | None) -> Any:
    """A plain value, or the text of an expression."""
    if node is None:
        return None
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def _value(sources: Sources, module: str, node: ast.expr) -> Any:
    """A plain value, through a constant of the module or a default of a class; else the node."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        pass
    statements = body(sources, module)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        factors = [_value(sources, module, side) for side in (node.left, node.right)]
        if all(isinstance(factor, int) for factor in factors):
            return factors[0] * factors[1]
    if isinstance(node, ast.Name):
        return next(
            (_value(sources, module, v) for n, v in _assigned(statements) if n == node.id), node
        )
    if isinstance(node, ast.Attribute):
        meaning = sources.base_meaning(module, node.value)
        if isinstance(meaning, Found):
            values = dict(_assigned(meaning.node.body))
            if node.attr in values:
                return _value(sources, meaning.module, values[node.attr])
    return node


def _assigned(statements: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in statements:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            name = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(name, ast.Name):
                yield name.id, node.value
