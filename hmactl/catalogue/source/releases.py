"""What one release says about connectors and HMA."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from hmactl.catalogue.source.classes import (
    BASE,
    CONNECTORS,
    INTERFACE,
    MULTI,
    describe,
    is_connector,
    takes_kv_cache_config,
)
from hmactl.catalogue.source.hma_rules import (
    CONFIG,
    FACTORY,
    FLAG,
    NotUnderstoodError,
    constructor,
    decision,
    offloading,
)
from hmactl.catalogue.source.modules import Found, Sources

OLD_CONSTRUCTOR = "old_constructor"
LMCACHE = "lmcache.integration.vllm"
_Tests = tuple[ast.expr, ...]


def vllm_release(sources: Sources) -> dict[str, Any]:
    """A vLLM's registry of connectors, and its rules about them."""
    factory = sources.tree(FACTORY)
    if factory is None:
        raise NotUnderstoodError(f"no {FACTORY}")
    registered = list(_registered(factory))
    if not registered:
        raise NotUnderstoodError(f"no connector is registered in {FACTORY}")
    return {
        "connectors": {
            name: describe(sources, module, cls)
            | _imports(sources, module, f"{CONNECTORS}.v1", "lmcache")
            for name, module, cls in registered
        },
        "rules": {
            "interface": isinstance(sources.meaning(BASE, INTERFACE), Found),
            "module_path": _module_path(factory),
            "with_connector": _with_connector(sources),
            "multi": _multi(sources, registered),
            "decision": decision(sources),
            "offloading": offloading(sources),
            "constructor": constructor(sources),
        },
    }


def lmcache_release(sources: Sources) -> dict[str, Any]:
    """The connector classes that an LMCache brings for vLLM."""
    classes = {}
    for module in sources.modules(LMCACHE):
        tree = sources.tree(module)
        for node in [] if tree is None else tree.body:
            if isinstance(node, ast.ClassDef) and is_connector(sources, Found(module, node)):
                facts = describe(sources, module, node.name)
                if takes_kv_cache_config(sources, Found(module, node)) is False:
                    facts[OLD_CONSTRUCTOR] = True
                facts |= _imports(sources, module, LMCACHE, "vllm")
                classes[f"{module}:{node.name}"] = facts
    return {"classes": classes}


def names(sources: Sources, asked: Iterable[str]) -> dict[str, dict[str, bool]]:
    """Whether a release has what classes of the other package import from it."""
    return {name: {"there": sources.has(name)} for name in sorted(asked)}


def _imports(sources: Sources, module: str, within: str, package: str) -> dict[str, list[str]]:
    """What it cannot do without: of vLLM and LMCache, either may be older or missing."""
    found = sources.imports(module, within, package)
    return {"imports": found} if found else {}


def _registered(factory: ast.Module) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(factory):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".register_connector"):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts = [v.value for v in values if isinstance(v, ast.Constant)]
            if len(texts) != 3 or not all(isinstance(text, str) for text in texts):
                raise NotUnderstoodError(f"line {node.lineno} of {FACTORY} registers otherwise")
            yield str(texts[0]), str(texts[1]), str(texts[2])


def _module_path(factory: ast.Module) -> str:
    """Which wins where a name is registered and kv_connector_module_path is given too."""
    for node in ast.walk(factory):
        if isinstance(node, ast.FunctionDef) and "kv_connector_module_path" in ast.unparse(node):
            choices = [
                ast.unparse(inner.test)
                for inner in node.body
                if isinstance(inner, ast.If) and not isinstance(inner.body[0], ast.Raise)
            ]
            if choices[:1] == ["connector_name in cls._registry"]:
                return "registry wins"
            if choices[:1] == ["connector_module_path"]:
                return "module path wins"
    raise NotUnderstoodError(f"what wins in {FACTORY}")


def _with_connector(sources: Sources) -> str:
    """What vLLM makes of HMA where a connector is configured."""
    config = sources.tree(CONFIG)
    if config is None:
        raise NotUnderstoodError(f"no {CONFIG}")
    for tests in _switched_off(config.body, ()):
        texts = [ast.unparse(test) for test in tests]
        at = [n for n, text in enumerate(texts) if text == "self.kv_transfer_config is not None"]
        if not at:
            continue
        if any("hma" in text for text in texts[at[0] + 1 :]):
            return "asks the connector"
        if f"self.scheduler_config.{FLAG} is None" in texts:
            return "off unless enabled"
        return "always off"
    raise NotUnderstoodError(f"how {CONFIG} switches HMA off")


def _switched_off(body: list[ast.stmt], tests: _Tests) -> Iterator[_Tests]:
    """The conditions under which a statement switches HMA off."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _switched_off(node.body, (*tests, node.test))
            yield from _switched_off(node.orelse, tests)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.With | ast.Try):
            yield from _switched_off(node.body, tests)
        elif isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0])
            value = node.value
            if target.endswith(FLAG) and isinstance(value, ast.Constant) and value.value is True:
                yield tests


def _multi(sources: Sources, registered: list[tuple[str, str, str]]) -> dict[str, Any] | None:
    """How MultiConnector's children count, and what no children at all come to.

    None where they do not: the class itself does not support HMA.
    """
    place = next(((module, cls) for name, module, cls in registered if name == MULTI), None)
    meaning = None if place is None else sources.meaning(*place)
    if not isinstance(meaning, Found) or place is None:
        return None
    if describe(sources, *place)["supports_hma"] is not True:
        return None
    methods = {n.name: n for n in meaning.node.body if isinstance(n, ast.FunctionDef)}
    if "all_children_support_hma" in methods:
        refuses = any(
            isinstance(node, ast.If)
            and ast.unparse(node.test).startswith("not ")
            and ast.unparse(node.body[-1]) == "return False"
            and not any(isinstance(inner, ast.Call) for inner in ast.walk(node.test))
            for node in ast.walk(methods["all_children_support_hma"])
        )
        return {"checked_in": "MultiConnector.all_children_support_hma", "empty": not refuses}
    config = sources.tree(CONFIG)
    for where, tree in ((CONFIG, config), ("MultiConnector.__init__", methods.get("__init__"))):
        if tree is not None and any(_all_support(node) for node in ast.walk(tree)):
            # Python's all() of nothing is true.
            return {"checked_in": where, "empty": True}
    raise NotUnderstoodError("how MultiConnector asks its children")


def _all_support(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "all"
        and "supports_hma(" in ast.unparse(node.args[0])
    )
