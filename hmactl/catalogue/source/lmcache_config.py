"""The settings of LMCache in the vLLM process, as its source says: keys, and how it reads them.

What converts a value is one of a few functions, which are known by what they do: one that does
something else is not understood, so that nothing is claimed of it.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from hmactl.catalogue.source.functions import body, defined, digest, place
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.lmcache_checks import checks
from hmactl.catalogue.source.modules import Sources

CONFIG = "lmcache.v1.config"
BASE = "lmcache.v1.config_base"
INTEGRATION = "lmcache.integration.vllm.utils"
ADAPTER = "lmcache.integration.vllm.vllm_v1_adapter"
TOKENS = "lmcache.v1.token_database"
SERVED_ADAPTER = "lmcache.integration.vllm.vllm_multi_process_adapter"
# What a function does, by its name and digest, as hmactl.facts.lmcache_converters has it.
_CONVERTERS = {
    ("_to_bool", "bd93b62db2538152"): "bool",
    ("_to_int_list", "540b42b56db49272"): "ints",
    ("_to_float_list", "f64fa6f2453c4b99"): "floats",
    ("_to_str_list", "77daaf411bd07192"): "texts",
    ("_parse_local_disk", "e72e208b50486c9a"): "directory",
    ("_parse_local_disk", "969e56982571b14f"): "directories",
    ("_to_hidden_states_retrieve_mode", "a4580fba387a19a3"): "retrieve mode",
}
_LAMBDAS = {
    "x if isinstance(x, bool) else str(x).lower() in ['true', '1']": "bool as it stands",
    "x if isinstance(x, dict) else json.loads(x) if x else None": "mapping",
    "x if isinstance(x, list) else [x] if x else []": "one text",
}
_PLAIN = {"int", "float", "str"}
_VARIABLE = re.compile(r"\bLMCACHE_[A-Z0-9_]+")
_KEY = re.compile(r"[\"'](lmcache\.[a-z0-9_.]+)")
_UPDATE = "_update_config_from_env"
_CHECKS = "self.validate()"
_SAFELY = "_apply_env_converter_safely"
_EMPTY = ("self.lmcache_instance_id", "getattr(self, 'lmcache_instance_id', None)")
_MODULES = re.compile(r"lmcache\.(v1|integration)(\.|$)")


def lmcache_config(sources: Sources) -> dict[str, Any]:
    """``keys`` with their types, defaults and converters; ``old_names`` with ``today``'s, and
    whether they are ``taken``; ``names`` of variables and connector keys that the source has;
    ``loading``: what becomes of what cannot be read, and what comes first; ``checks``.

    Raises NotUnderstoodError where a release has another form.
    """
    return {
        "keys": dict(_keys(sources)),
        "old_names": _old_names(sources),
        "names": {name: {} for name in _names(sources)},
        "loading": _loading(sources),
        "checks": {"steps": checks(_function(sources, CONFIG, "_validate_config"))},
    }


def names_of_lmcache(sources: Sources) -> set[str]:
    """LMCache's variables and connector keys in vLLM's own source."""
    return {
        name
        for text in sources.texts()
        if "lmcache" in text
        for name in (*_VARIABLE.findall(text), *_KEY.findall(text))
        if not _MODULES.match(name)
    }


def _keys(sources: Sources) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, node in _table(sources, "_CONFIG_DEFINITIONS").items():
        told = _entries(node)
        facts: dict[str, Any] = {"type": ast.unparse(told["type"])}
        facts["default"] = _default(told["default"])
        if "env_converter" in told:
            facts["converter"] = _converter(sources, told["env_converter"])
        yield key, facts


def _default(node: ast.expr) -> Any:
    if ast.unparse(node) == "float('inf')":
        return "inf"  # JSON has no infinity, and LMCache's own converter makes one of this
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise NotUnderstoodError(f"the default `{ast.unparse(node)}` in {CONFIG}") from None


def _converter(sources: Sources, node: ast.expr) -> str:
    name = ast.unparse(node)
    if name in _PLAIN:
        return name
    if isinstance(node, ast.Lambda) and ast.unparse(node.body) in _LAMBDAS:
        return _LAMBDAS[ast.unparse(node.body)]
    found = place(sources, CONFIG, name) if isinstance(node, ast.Name) else None
    kind = None if found is None else _CONVERTERS.get((name, digest(found[1])))
    if kind is None:
        does = "" if found is None else f" ({digest(found[1])})"
        raise NotUnderstoodError(f"the converter `{name}`{does} in {CONFIG}")
    return kind


def _old_names(sources: Sources) -> dict[str, dict[str, Any]]:
    """A name is only taken where the list of deprecated names has it too."""
    aliases = _table(sources, "_CONFIG_ALIASES")
    deprecated = _table(sources, "_DEPRECATED_CONFIGS")
    found = {}
    for old in sorted({*aliases, *deprecated}):
        today = ast.literal_eval(aliases[old]) if old in aliases else None
        found[old] = {"today": today, "taken": today is not None and old in deprecated}
    return found


def _names(sources: Sources) -> list[str]:
    found = set()
    for text in sources.texts():
        found |= {*_VARIABLE.findall(text), *_KEY.findall(text)}
    defaults = next(
        (
            node
            for node in body(sources, SERVED_ADAPTER)
            if isinstance(node, ast.ClassDef) and node.name == "ExtraConfigDefault"
        ),
        None,
    )
    for node in [] if defaults is None else defaults.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.add(f"lmcache.mp.{node.targets[0].id}")
    return sorted(name for name in found if not _MODULES.match(name))


def _loading(sources: Sources) -> dict[str, Any]:
    """What LMCache's loader does, told by what its functions say.

    ``over_file``: variables replace what the file says; otherwise they are not read beside one.
    ``unquotes``: a variable's value. What cannot be read in a variable or the file: the
    ``default`` stays, ``none`` is set, or it ``ends`` the loader. ``file_address_checked``: the
    remote_url of the file has to be one. ``file_checked``, ``variables_checked``: when the checks
    run with a file, and whether they do without. ``makes_instance_id``: where there is none.
    ``connector_keys``: whether a connector's `lmcache.*` keys are set, and whether converted;
    ``connector_json``: an extra_config of them that is a text is. ``hashes_by_name``: vLLM is asked
    for the hash algorithm by its name.
    """
    made_in, maker = _maker(sources)
    from_env = _step(sources, made_in, maker, "_from_env")
    from_file = _step(sources, made_in, maker, "_from_file")
    post_init = _step(sources, made_in, maker, "_post_init")
    update = ""
    if _UPDATE in from_env or made_in == BASE:
        own = f"'{_UPDATE[1:]}': {_UPDATE}" in _class(sources)
        update = _step(sources, CONFIG if own else made_in, None if own else maker, _UPDATE)
    integration = _integration(sources)
    setter = _setter(sources)
    over_file = f"{_UPDATE[1:]}()" in integration
    file_checked = "never"
    if _CHECKS in post_init:
        file_checked = "before variables"
    elif _CHECKS in update and over_file:
        file_checked = "at the end"
    at_once = _CHECKS in (update if f"{_UPDATE}(" in from_env else post_init)
    return {
        "over_file": over_file,
        "unquotes": "_parse_quoted_string" in update,
        "unreadable_variable": "none" if _SAFELY in from_env else "default",
        "unreadable_in_file": "none" if _SAFELY in from_file else "ends",
        "file_address_checked": "Invalid remote storage url" in from_file,
        "file_checked": file_checked,
        "variables_checked": at_once or "_config_instance.validate()" in integration,
        "makes_instance_id": any(f"if not {empty}:" in post_init for empty in _EMPTY),
        "connector_keys": _connector_keys(setter),
        "connector_json": "json.loads" in setter,
        "hashes_by_name": "get_hash_fn_by_name" in _module(sources, TOKENS),
    }


def _module(sources: Sources, name: str) -> str:
    return "".join(ast.unparse(node) for node in body(sources, name))


def _maker(sources: Sources) -> tuple[str, ast.FunctionDef]:
    """The function that makes the class of the configuration, and its module."""
    for module, name in ((CONFIG, "_create_config_class"), (BASE, "create_config_class")):
        found = defined(body(sources, module), name)
        if found is not None:
            return module, found
    raise NotUnderstoodError(f"what makes the configuration of {CONFIG}")


def _step(sources: Sources, module: str, maker: ast.FunctionDef | None, name: str) -> str:
    """The text of a function of the loader, inside of what makes the class or beside it."""
    inside = None if maker is None else defined(maker.body, name)
    found = inside or defined(body(sources, module), name)
    if found is None:
        raise NotUnderstoodError(f"no {name} in {module}")
    return ast.unparse(found)


def _class(sources: Sources) -> str:
    """How the class of the configuration is made."""
    values = (n.value for n in body(sources, CONFIG) if isinstance(n, ast.Assign))
    return "".join(ast.unparse(v) for v in values if isinstance(v, ast.Call))


def _integration(sources: Sources) -> str:
    """How vLLM's connector gets LMCache's settings."""
    functions = (n for n in body(sources, INTEGRATION) if isinstance(n, ast.FunctionDef))
    text = "".join(ast.unparse(n) for n in functions if n.name.startswith("lmcache_get"))
    if "from_file(" not in text or "from_env()" not in text:
        raise NotUnderstoodError(f"how {INTEGRATION} loads settings")
    return text


def _setter(sources: Sources) -> str:
    """The function that puts a connector's keys into the configuration; empty: there is none."""
    for name in ("validate_and_set_config_value", "_validate_and_set_config_value"):
        found = place(sources, ADAPTER, name)
        if found is not None:
            return ast.unparse(found[1])
    return ""


def _connector_keys(setter: str) -> str:
    if not setter:
        return "ignored"
    return "converted" if _SAFELY in setter else "as written"


def _function(sources: Sources, module: str, name: str) -> ast.FunctionDef:
    found = defined(body(sources, module), name)
    if found is None:
        raise NotUnderstoodError(f"no {name} in {module}")
    return found


def _table(sources: Sources, name: str) -> dict[str, ast.expr]:
    """A dictionary of the module with texts as keys."""
    for node in body(sources, CONFIG):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            named = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(named) == name:
                return _entries(node.value)
    raise NotUnderstoodError(f"no {name} in {CONFIG}")


def _entries(node: ast.expr) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        raise NotUnderstoodError(f"line {node.lineno} of {CONFIG}")
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant):
            raise NotUnderstoodError(f"line {node.lineno} of {CONFIG}")
        found[str(key.value)] = value
    return found
