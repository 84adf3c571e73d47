"""Run by an interpreter with an LMCache: what its own loader makes of the settings of each case.

Reads a list of {"name", "environment", "file", "extra", "request"} from standard input and writes
{"version", "answers": {name: ...}} to the file that the first argument names. ``file`` is the text
of its file or null, ``extra`` a connector's extra configuration. ``request`` is one of the dry
boot, which lies in the directory that the second argument names, or null.

The function of LMCache by which vLLM's connector gets its settings is taken from its source,
because older releases do not import beside a newer vLLM.
"""

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

FILE = "LMCACHE_CONFIG_FILE"
HASHING = {"PYTHONHASHSEED", "VLLM_WORKER_MULTIPROC_METHOD"}


def _loader() -> Any:
    """LMCache's function, each time with the globals that it begins with."""
    spec = importlib.util.find_spec("lmcache")
    assert spec is not None
    root = (spec.submodule_search_locations or [""])[0]
    text = (Path(root) / "integration" / "vllm" / "utils.py").read_text("utf-8")
    (function,) = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("lmcache_get")
    ]
    function.returns = None
    code = compile(ast.Module([function], []), "utils.py", "exec")
    config = importlib.import_module("lmcache.v1.config").LMCacheEngineConfig

    def load() -> Any:
        names: dict[str, Any] = {
            "os": os,
            "logger": logging.getLogger("lmcache"),
            "_config_instance": None,
            "_config_lock": threading.Lock(),
            "LMCacheEngineConfig": config,
            "V1Config": config,
            "is_false": lambda text: text.lower() in {"false", "0"},
        }
        exec(code, names)
        return names[function.name]()

    return load


def _setter() -> Any:
    for module, name in (
        ("lmcache.v1.config_base", "validate_and_set_config_value"),
        ("lmcache.v1.config", "_validate_and_set_config_value"),
    ):
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    return None


def _loaded(case: dict[str, Any], load: Any) -> dict[str, Any]:
    try:
        config = load()
    except Exception as error:  # noqa: BLE001 - whatever LMCache raises is its answer
        return {"refusal": f"{type(error).__name__}: {error}"}
    put, dropped = _setter(), []
    known = importlib.import_module("lmcache.v1.config")._CONFIG_DEFINITIONS
    for name, value in case["extra"].items():
        key = name.removeprefix("lmcache.")
        if put is not None and key != name and key in known and not put(config, key, value):
            dropped.append(name)
    return {
        "refusal": None,
        "values": {key: getattr(config, key) for key in known},
        "dropped": dropped,
    }


def _answer(case: dict[str, Any], load: Any, settings: Any, file: Path) -> dict[str, Any]:
    for name in [*os.environ]:
        if name.startswith("LMCACHE_") or name in HASHING:
            del os.environ[name]
    os.environ.update(case["environment"])
    if case["file"] is not None:
        file.write_text(case["file"], "utf-8")
        os.environ[FILE] = str(file)
    dry_boot = settings.effective(case["request"]) if case["request"] is not None else None
    return {"dry_boot": dry_boot, **_loaded(case, load)}


def main() -> None:
    logging.disable()
    sys.path.insert(0, sys.argv[2])
    cases = json.load(sys.stdin)
    settings = None
    if any(case["request"] is not None for case in cases):
        # Everything that a case needs, once instead of in each fork.
        importlib.import_module("vllm.utils.hashing")
        importlib.import_module("vllm.v1.core.kv_cache_utils")
        source = importlib.import_module("dryboot.lmcache_source")
        for pattern in (
            r"LMCACHE_[A-Z0-9_]+",
            r"lmcache\.[a-z0-9_.]+",
            r"lmcache\.mp\.[a-z0-9_.]+",
        ):
            source.source_names(pattern)
        settings = importlib.import_module("dryboot.lmcache_settings")
    load, answers = _loader(), {}
    with tempfile.TemporaryDirectory() as directory:
        for case in cases:
            answer = _answer(case, load, settings, Path(directory) / "lmcache.yaml")
            text = json.dumps(answer, default=str).replace("Infinity", '"inf"')
            answers[case["name"]] = json.loads(text)
    said = {"version": importlib.metadata.version("lmcache"), "answers": answers}
    Path(sys.argv[1]).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main()
