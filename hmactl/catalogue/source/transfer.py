"""The fields of a vLLM's KVTransferConfig, as its source says, and what becomes of others."""

import ast
from typing import Any

from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import External, Found, Sources

MODULE = "vllm.config.kv_transfer"
CLASS = "KVTransferConfig"
DECORATORS = "vllm.config.utils"
IGNORED, REFUSED = "ignored", "refused"


def transfer_config(sources: Sources) -> dict[str, Any]:
    """``fields`` by name, each with its ``type`` and its ``default``, or the function ``made_by``
    which that is made when it is asked for; ``others`` is what becomes of a field that is none.

    Raises NotUnderstoodError where the class has another form.
    """
    meaning = sources.meaning(MODULE, CLASS)
    if not isinstance(meaning, Found):
        raise NotUnderstoodError(f"no {CLASS} in {MODULE}")
    fields = {
        node.target.id: _field(node)
        for node in meaning.node.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not ast.unparse(node.annotation).startswith("ClassVar")
    }
    return {"fields": fields, "others": {"are": _others(sources, meaning)}}


def _field(node: ast.AnnAssign) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": ast.unparse(node.annotation)}
    if node.value is None:
        return facts
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "field":
        factory = next((k.value for k in node.value.keywords if k.arg == "default_factory"), None)
        if factory is None:
            raise NotUnderstoodError(f"the default `{ast.unparse(node.value)}` in {MODULE}")
        made_by = ast.unparse(factory)
        if made_by == "dict":
            facts["default"] = {}
        else:
            facts["made_by"] = made_by
        return facts
    try:
        facts["default"] = ast.literal_eval(node.value)
    except ValueError:
        raise NotUnderstoodError(f"the default `{ast.unparse(node.value)}` in {MODULE}") from None
    return facts


def _others(sources: Sources, found: Found) -> str:
    """pydantic leaves out what a dataclass does not have, unless it is told to forbid it."""
    names = [ast.unparse(decorator) for decorator in found.node.decorator_list]
    if "config" in names and _forbids(sources):
        return REFUSED
    plain = External("pydantic.dataclasses", "dataclass")
    if "dataclass" in names and sources.meaning(found.module, "dataclass") == plain:
        return IGNORED
    raise NotUnderstoodError(f"what {CLASS} makes of other fields with {names}")


def _forbids(sources: Sources) -> bool:
    tree = sources.tree(DECORATORS)
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name == "config"
        and "ConfigDict(extra='forbid')" in ast.unparse(node)
        for node in ([] if tree is None else tree.body)
    )
