"""How a vLLM decides about HMA, as its source says: what switches it off, and what flags do."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmactl.catalogue.source.classes import CONNECTORS
from hmactl.catalogue.source.modules import Sources

FACTORY = f"{CONNECTORS}.factory"
CONFIG = "vllm.config.vllm"
CACHE = "vllm.config.cache"
PLATFORMS = "vllm.platforms"
ENVIRONMENT = "vllm.envs"
FLAG = "disable_hybrid_kv_cache_manager"

_SWITCH = f"self.scheduler_config.{FLAG}"
_ENVS = "envs."
_CHUNKED = "self.model_config is not None and self.model_config.attention_chunk_size is not None"
_EAGLE = "self.speculative_config is not None and self.speculative_config.use_eagle()"
_CONNECTOR = "self.kv_transfer_config is not None"
# Conditions under which vLLM switches HMA off, by the name that the catalogue gives them.
_CAUSES = {
    ("not current_platform.support_hybrid_kv_cache()",): "platform",
    ("self.kv_events_config is not None",): "kv events",
    (_CHUNKED, _EAGLE): "chunked local attention with eagle",
}
_CHUNKED_ALONE = "chunked local attention"
_WITHOUT_HMA = {f"self.attention_config.hisparse_config is not None and {_SWITCH}": "hisparse"}
_EXPAND = "_post_init_kv_transfer_config"


class NotUnderstoodError(Exception):
    """A release has changed where these facts stood; the reader has to learn its new form."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement with the conditions that it stands under."""

    node: ast.stmt
    tests: tuple[str, ...]


def decision(sources: Sources) -> dict[str, Any]:
    """What switches HMA off besides a connector, and what becomes of an explicit enable then."""
    steps = list(_steps(_tree(sources, CONFIG).body, ()))
    off: list[str] = []
    variable = None
    for step in steps:
        if not _switches_off(step.node):
            continue
        tests = tuple(t for t in step.tests if _SWITCH not in t)
        if tests[:1] == (_CONNECTOR,):
            continue
        if len(tests) == 3 and tests[:2] == (_CHUNKED, f"not ({_EAGLE})"):
            variable = tests[2].removeprefix(f"not {_ENVS}")
            off.append(_CHUNKED_ALONE)
        elif tests in _CAUSES:
            off.append(_CAUSES[tests])
        else:
            raise NotUnderstoodError(f"line {step.node.lineno} of {CONFIG} switches HMA off")
    if not off:
        raise NotUnderstoodError(f"how {CONFIG} switches HMA off")
    return {
        "off_by": off,
        "variable": None if variable is None else _variable(sources, variable),
        "explicit_on": "refused" if any(map(_refuses_enabling, steps)) else "overruled",
        "needed_by": [_WITHOUT_HMA[t] for s in steps for t in s.tests if t in _WITHOUT_HMA],
        "platforms": _platforms(sources),
        "refused_at_creation": _refused_at_creation(sources),
    }


def offloading(sources: Sources) -> dict[str, Any] | None:
    """The connector that ``--kv-offloading-size`` and ``--kv-offloading-backend`` stand for.

    None where there are no such options.
    """
    tree = _tree(sources, CONFIG)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    expand = next((f for f in functions if f.name == _EXPAND), None)
    if expand is None:
        return None
    calls = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"self.{_EXPAND}"
    ]
    decided = [s.node.lineno for s in _steps(tree.body, ()) if _switches_off(s.node)]
    if len(calls) != 1 or not decided:
        raise NotUnderstoodError(f"when {CONFIG} expands the offloading options")
    steps = list(_steps(expand.body, ()))
    first = next((s.tests[0] for s in steps if isinstance(s.node, ast.Return)), "")
    backends = {b: _backend(steps, b) for b in ("native", "lmcache")}
    return {
        "expanded": "before" if calls[0] < min(decided) else "after",
        "asked_by": "kv_offloading_size" if "kv_offloading_size" in first else "both",
        "default": _default(sources, CACHE, "CacheConfig", "kv_offloading_backend"),
        "backends": backends,
    }


def constructor(sources: Sources) -> str:
    """What becomes of a class of a kv_connector_module_path that takes no kv_cache_config."""
    for node in ast.walk(_tree(sources, FACTORY)):
        if isinstance(node, ast.If) and "supports_kw(" in ast.unparse(node.test):
            refused = any(isinstance(inner, ast.Raise) for inner in node.body)
            return "refused" if refused else "accepted"
    raise NotUnderstoodError(f"how {FACTORY} looks at constructors")


def _tree(sources: Sources, module: str) -> ast.Module:
    tree = sources.tree(module)
    if tree is None:
        raise NotUnderstoodError(f"no {module}")
    return tree


def _steps(body: list[ast.stmt], tests: tuple[str, ...]) -> Iterator[_Step]:
    for node in body:
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            yield from _steps(node.body, (*tests, test))
            yield from _steps(node.orelse, (*tests, f"not ({test})"))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.With | ast.Try):
            yield from _steps(node.body, tests)
        else:
            yield _Step(node, tests)


def _switches_off(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return False
    return ast.unparse(node.targets[0]).endswith(FLAG) and node.value.value is True


def _refuses_enabling(step: _Step) -> bool:
    return isinstance(step.node, ast.Raise) and any(
        test.startswith(f"{_SWITCH} is False and ") for test in step.tests
    )


def _variable(sources: Sources, name: str) -> dict[str, Any]:
    """An environment variable of vLLM's that is a number, with its default."""
    for node in ast.walk(_tree(sources, ENVIRONMENT)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"os.getenv", "os.environ.get"}:
            values = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if len(values) == 2 and values[0] == name and str(values[1]) in {"0", "1"}:
                return {"name": name, "default": str(values[1]) == "1"}
    raise NotUnderstoodError(f"the default of {name}")


def _platforms(sources: Sources) -> list[str]:
    """The platforms with HMA, by the names of their modules."""
    having = []
    for module in sources.modules(PLATFORMS):
        tree = sources.tree(module)
        for node in [] if tree is None else ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "support_hybrid_kv_cache":
                returned = [n for n in node.body if isinstance(n, ast.Return)]
                if [ast.unparse(n) for n in returned] == ["return True"]:
                    having.append(module.rpartition(".")[2])
    return sorted(set(having))


def _refused_at_creation(sources: Sources) -> bool:
    """Whether a connector without HMA is refused when it is created with HMA on."""
    for node in ast.walk(_tree(sources, FACTORY)):
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            test = ast.unparse(node.test)
            if "hma_enabled" in test and "supports_hma" in test:
                return True
    return False


def _backend(steps: list[_Step], backend: str) -> dict[str, Any]:
    """The connector of an offloading backend, another one that a variable asks for, and whether
    it is given the size."""
    mine = [s for s in steps if any(t.endswith(f"backend == '{backend}'") for t in s.tests)]
    mine = [s for s in mine if f"not (kv_offloading_backend == '{backend}')" not in s.tests]
    connector: str | None = None
    variants: dict[str, str] = {}
    sized = False
    for step in mine:
        if not isinstance(step.node, ast.Assign):
            sized = sized or "kv_connector_extra_config" in ast.unparse(step.node)
            continue
        target, value = ast.unparse(step.node.targets[0]), step.node.value
        sized = sized or "kv_connector_extra_config" in target
        if not isinstance(value, ast.Constant) or not str(value.value).endswith(
            ("Connector", "ConnectorV1")
        ):
            continue
        asked = step.tests[-1]
        if asked.startswith(_ENVS):
            variants[asked.removeprefix(_ENVS)] = str(value.value)
        else:
            connector = str(value.value)
    if connector is None or len(variants) > 1:
        raise NotUnderstoodError(f"the connector of the offloading backend {backend}")
    variable, other = next(iter(variants.items()), (None, None))
    return {"connector": connector, "variable": variable, "instead": other, "sized": sized}


def _default(sources: Sources, module: str, cls: str, field: str) -> Any:
    for node in _tree(sources, module).body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for inner in node.body:
                if isinstance(inner, ast.AnnAssign) and ast.unparse(inner.target) == field:
                    if isinstance(inner.value, ast.Constant):
                        return inner.value.value
                    break
    raise NotUnderstoodError(f"the default of {cls}.{field}")
