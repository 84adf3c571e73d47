"""Whether a connector class supports HMA, as its source says."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmactl.catalogue.source.modules import Called, External, Found, Meaning, Sources, Unknown

CONNECTORS = "vllm.distributed.kv_transfer.kv_connector"
BASE = f"{CONNECTORS}.v1.base"
INTERFACE = "SupportsHMA"
# From where another package may import what vLLM's base module defines.
_EXPORTS = (BASE, f"{CONNECTORS}.v1", CONNECTORS)
_PLAIN_BASES = {"KVConnectorBase_V1", "KVConnectorBase"}
MULTI = "MultiConnector"
_MULTI_MODULE = f"{CONNECTORS}.v1.multi_connector"
OF_CHILDREN = "of_children"
RESOLVED = "resolved"
_IF = "if "


@dataclass(frozen=True, slots=True)
class Answer:
    """``supports_hma`` is None where it cannot be told; ``how`` says what was read."""

    supports_hma: bool | None
    how: str


def of_class(sources: Sources, found: Found) -> Answer:
    """Whether a class subclasses SupportsHMA, through all of its bases."""
    if _is_interface(found):
        return Answer(True, INTERFACE)
    unsure = None
    for base in found.node.bases:
        answer = _of_base(sources, sources.base_meaning(found.module, base))
        if answer.supports_hma:
            return Answer(True, f"{found.node.name} < {answer.how}")
        if answer.supports_hma is None and unsure is None:
            unsure = answer
    if unsure is not None:
        return Answer(None, f"a base of {found.node.name} is unknown: {unsure.how}")
    bases = ", ".join(ast.unparse(base) for base in found.node.bases) or "no base"
    return Answer(False, f"{found.node.name} < {bases}")


def describe(sources: Sources, module: str, name: str) -> dict[str, Any]:
    """What the class that a factory finds as ``name`` in ``module`` says about HMA."""
    meaning = sources.meaning(module, name)
    facts: dict[str, Any] = {"module": module, "class": name}
    if isinstance(meaning, Found):
        answer = of_class(sources, meaning)
        if meaning.module != module:
            facts["defined_in"] = meaning.module
        if descends_from_multi(sources, meaning):
            facts[OF_CHILDREN] = True
        return facts | {"supports_hma": answer.supports_hma, "how": answer.how}
    if isinstance(meaning, Called):
        return facts | _resolution(sources, meaning)
    return facts | {"supports_hma": None, "how": _why(meaning)}


def descends_from_multi(sources: Sources, found: Found) -> bool:
    """Whether a class inherits vLLM's MultiConnector, so that it is as good as its children."""
    return any(
        _is_multi(meaning) or (isinstance(meaning, Found) and descends_from_multi(sources, meaning))
        for meaning in (sources.base_meaning(found.module, base) for base in found.node.bases)
    )


def takes_kv_cache_config(sources: Sources, found: Found) -> bool | None:
    """Whether the constructor takes ``kv_cache_config``; None where that cannot be told."""
    for node in found.node.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            names = {a.arg for a in [*node.args.posonlyargs, *node.args.args]}
            names |= {a.arg for a in node.args.kwonlyargs}
            return "kv_cache_config" in names or node.args.kwarg is not None
    for base in found.node.bases:
        meaning = sources.base_meaning(found.module, base)
        if isinstance(meaning, Found):
            return takes_kv_cache_config(sources, meaning)
        if not isinstance(meaning, External):
            return None
        if meaning.name in _PLAIN_BASES or _is_multi(meaning):
            return True  # as long as there has been SupportsHMA
    return None


def is_connector(sources: Sources, found: Found) -> bool:
    """Whether a class of another package descends from vLLM's connector base."""
    return any(
        isinstance(meaning, External)
        and (meaning.name in _PLAIN_BASES | {INTERFACE} or _is_multi(meaning))
        if not isinstance(meaning, Found)
        else is_connector(sources, meaning)
        for meaning in (sources.base_meaning(found.module, base) for base in found.node.bases)
    )


def _of_base(sources: Sources, meaning: Meaning) -> Answer:
    if isinstance(meaning, Found):
        return of_class(sources, meaning)
    if isinstance(meaning, External):
        from_vllm = meaning.module.partition(".")[0] == "vllm"
        if from_vllm and meaning.name == INTERFACE and meaning.module in _EXPORTS:
            return Answer(True, INTERFACE)
        if from_vllm and meaning.name not in _PLAIN_BASES and not _is_multi(meaning):
            return Answer(None, f"{meaning.module}.{meaning.name} is vLLM's")
        # Another package's class cannot descend from vLLM's.
        return Answer(False, meaning.name)
    return Answer(None, _why(meaning))


def _is_multi(meaning: Meaning) -> bool:
    if isinstance(meaning, Found):
        return (meaning.module, meaning.node.name) == (_MULTI_MODULE, MULTI)
    return meaning == External(_MULTI_MODULE, MULTI)


def _is_interface(found: Found) -> bool:
    return found.module == BASE and found.node.name == INTERFACE


def _why(meaning: Meaning) -> str:
    if isinstance(meaning, Unknown):
        return meaning.why
    if isinstance(meaning, External):
        return f"{meaning.module}.{meaning.name} belongs to another package"
    assert isinstance(meaning, Called)  # noqa: S101 - for the type checker
    return f"what {meaning.function.name}() returns when {meaning.module} is imported"


def _resolution(sources: Sources, called: Called) -> dict[str, Any]:
    """A function that returns its own class if a variable says so, else tries to import another
    package's, else its own: the one form known here. Any other is unknown."""
    module, function = called.module, called.function
    imported: dict[str, tuple[str, str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                origin = sources.absolute(module, node)
                imported[alias.asname or alias.name] = (origin, alias.name)
    tried: tuple[str, str] | None = None
    variable: str | None = None
    # The class that is forced, and the one that remains.
    own: dict[str, str] = {}
    for name, context in _returns(function.body, ()):
        if name is None:
            return _unresolved(called)
        if context == ("try",) and name in imported and tried is None:
            tried = imported[name]
        elif context == ("except",) and name not in imported:
            own["remains"] = name
        elif len(context) == 1 and context[0].startswith(_IF) and name not in imported:
            variable = context[0].removeprefix(_IF)
            own["forced"] = name
        else:
            return _unresolved(called)
    if tried is None or "remains" not in own or len(set(own.values())) != 1:
        return _unresolved(called)
    return {
        "supports_hma": RESOLVED,
        "how": f"{function.name}() at import",
        "variable": variable,
        "tries": {"module": tried[0], "class": tried[1]},
        "else": describe(sources, module, own["remains"]),
    }


def _unresolved(called: Called) -> dict[str, Any]:
    return {"supports_hma": None, "how": _why(called)}


def _returns(
    body: list[ast.stmt], context: tuple[str, ...]
) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    """The names that a function returns (None for anything else), each with its conditions."""
    for node in body:
        if isinstance(node, ast.Return):
            yield (node.value.id if isinstance(node.value, ast.Name) else None), context
        elif isinstance(node, ast.If):
            variable = _variable(node.test)
            when = f"{_IF}{variable}" if variable else "else"
            yield from _returns(node.body, (*context, when))
            yield from _returns(node.orelse, (*context, "else"))
        elif isinstance(node, ast.Try):
            yield from _returns([*node.body, *node.orelse], (*context, "try"))
            for handler in node.handlers:
                yield from _returns(handler.body, (*context, "except"))


def _variable(test: ast.expr) -> str | None:
    """The environment variable that must not be empty, of ``os.environ.get("NAME")``."""
    if isinstance(test, ast.Call) and ast.unparse(test.func) in {"os.environ.get", "os.getenv"}:
        arguments = [a.value for a in test.args if isinstance(a, ast.Constant)]
        if len(arguments) == len(test.args) == 1 and isinstance(arguments[0], str):
            return arguments[0]
    return None
