"""What the installed LMCache makes of the deployment's settings.

Its own loader is asked for values; which names it reads elsewhere is taken from its source, because
importing all of it would need what a server has.
"""

import contextlib
import difflib
import functools
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PREFIX = "LMCACHE_"
_IN_PROCESS = "LMCacheConnectorV1"
_MP = "LMCacheMPConnector"
_WRONG_PREFIXES = ("LMCACHE_LMCACHE_", "LM_CACHE_")
_VLLM_PART = "distributed/kv_transfer/kv_connector/v1"


def concerns(request: dict[str, Any]) -> bool:
    """Whether LMCache has a part in that request."""
    arguments = (argument for flag in request["flags"] for argument in flag["arguments"])
    return bool(request["lmcache_keys"]) or any("LMCache" in argument for argument in arguments)


def effective(names: list[str], flags: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The loader's values, and the names that nothing reads.

    ``names`` are LMCache's keys and environment variables as the deployment has them; the
    connectors' extra configuration is found in ``flags``. Reads the environment of this process as
    LMCache in the engine would. None where LMCache is not installed or has no such loader.
    """
    try:
        from lmcache.v1.config import _CONFIG_DEFINITIONS, LMCacheEngineConfig
    except ImportError:
        return None
    known = list(_CONFIG_DEFINITIONS)
    renamed, accepted = _old_names()
    connectors = list(_connectors(flags))
    in_process = [extra for name, extra in connectors if name.startswith(_IN_PROCESS)]
    served = [extra for name, extra in connectors if name == _MP]
    unknown = {
        key: [renamed[key]] if key in renamed else _similar(key, known)
        for key in names
        if key == key.lower() and key not in known and key not in accepted
    }
    variables = [name for name in names if name != name.lower()]
    unknown |= unread_variables(variables, [*known, *accepted])
    for name in {PREFIX + old.upper() for old in renamed} & unknown.keys():
        unknown[name] = [PREFIX + renamed[name.removeprefix(PREFIX).lower()].upper()]
    loaded, refusal = _load(LMCacheEngineConfig)
    for extra in in_process:
        unknown |= _apply(loaded, extra, known)
    for extra in served:
        unknown |= unread_server_keys(extra)
    return {
        "values": {} if loaded is None else _plain({k: getattr(loaded, k) for k in known}),
        "unknown": unknown,
        "refusal": refusal,
        "hashes_differ": loaded is not None and _hashes_differ(loaded.pre_caching_hash_algorithm),
        "server_options": sorted(server_options()) if served else [],
    }


def _old_names() -> tuple[dict[str, str], set[str]]:
    """What LMCache's settings were called: with today's names, and those that it still takes.

    It has a list of old names, and drops each of them as unknown unless a second list has it too.
    """
    try:
        from lmcache.v1.config import _CONFIG_ALIASES, _DEPRECATED_CONFIGS
    except ImportError:
        return {}, set()
    return dict(_CONFIG_ALIASES), {old for old in _CONFIG_ALIASES if old in _DEPRECATED_CONFIGS}


def _load(loader: Any) -> tuple[Any, str | None]:
    """The configuration from the environment, and why LMCache itself would refuse it."""
    try:
        if file := os.environ.get("LMCACHE_CONFIG_FILE"):
            loaded = loader.from_file(file)
            loaded.update_config_from_env()
        else:
            loaded = loader.from_env()
    except OSError:
        return None, None  # the file may be where the server will run, and not here
    except Exception as error:  # noqa: BLE001 - whatever LMCache raises is its answer
        return None, _words(error)
    try:
        loaded.validate()
    except Exception as error:  # noqa: BLE001
        # A value that the loader could not read is None by now, and said so already.
        return loaded, None if isinstance(error, TypeError) else _words(error)
    return loaded, None


def _words(error: Exception) -> str:
    from .evidence import words

    return words(error)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(values, default=str))  # type: ignore[no-any-return]


def _connectors(flags: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Class name and extra configuration of every connector that the flags configure."""
    waiting: list[Any] = []
    for flag in flags:
        if flag["name"] == "kv-transfer-config" and flag["arguments"]:
            with contextlib.suppress(ValueError):
                waiting.append(json.loads(flag["arguments"][-1].partition("config=")[2] or "null"))
            with contextlib.suppress(ValueError):
                waiting.append(json.loads(flag["arguments"][-1]))
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        extra = one.get("kv_connector_extra_config")
        extra = extra if isinstance(extra, dict) else {}
        yield str(one.get("kv_connector")), extra
        children = extra.get("connectors")
        waiting += children if isinstance(children, list) else []


def _apply(loaded: Any, extra: dict[str, Any], known: list[str]) -> dict[str, list[str]]:
    """Put ``lmcache.*`` of a connector into the configuration; returns what nothing reads."""
    unknown = {}
    for name, value in extra.items():
        key = name.removeprefix("lmcache.")
        if key == name:
            continue
        if key in known:
            with contextlib.suppress(Exception):
                from lmcache.v1.config_base import validate_and_set_config_value

                validate_and_set_config_value(loaded, key, value)
        elif name not in _source_names(r"lmcache\.[a-z0-9_.]+"):
            unknown[name] = [f"lmcache.{similar}" for similar in _similar(key, known)]
    return unknown


def unread_variables(names: Iterable[str], known: list[str]) -> dict[str, list[str]]:
    """Variables named like LMCache's that neither its loader nor its source knows."""
    variables = {PREFIX + key.upper() for key in known}
    found: dict[str, list[str]] = {}
    for name in names:
        if name in variables or name.startswith(PREFIX + "EC_"):
            continue
        in_source = _source_names(r"LMCACHE_[A-Z0-9_]+")
        # A name that ends with an underscore is the start of other names.
        starts = tuple(n for n in in_source if n.endswith("_") and n != PREFIX)
        if name in in_source or (starts and name.startswith(starts)):
            continue
        meant = name
        for wrong in _WRONG_PREFIXES:
            meant = PREFIX + meant.removeprefix(wrong) if meant.startswith(wrong) else meant
        bare = [known.removeprefix(PREFIX) for known in sorted(variables | in_source - {PREFIX})]
        found[name] = [PREFIX + key for key in _similar(meant.removeprefix(PREFIX), bare)]
    return found


def unread_server_keys(extra: dict[str, Any]) -> dict[str, list[str]]:
    """``lmcache.mp.*`` keys that the connector's source does not have."""
    names = _source_names(r"lmcache\.mp\.[a-z0-9_.]+")
    if not names:
        return {}
    known = {name.rstrip(".") for name in names if not name.endswith("_")}
    known |= _defaults_of_the_adapter()
    starts = tuple(name for name in names if name.endswith("_"))
    bare = sorted(name.removeprefix("lmcache.mp.") for name in known)
    return {
        key: [f"lmcache.mp.{near}" for near in _similar(key.removeprefix("lmcache.mp."), bare)]
        for key in extra
        if key.startswith("lmcache.mp.") and key not in known and not key.startswith(starts)
    }


def _defaults_of_the_adapter() -> set[str]:
    text = "\n".join(t for p, t in _sources() if p.name == "vllm_multi_process_adapter.py")
    body = re.search(r"^class ExtraConfigDefault\b.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    keys = re.findall(r"^    ([a-z_]+)\s*=", body[0], re.MULTILINE) if body else []
    return {f"lmcache.mp.{key}" for key in keys}


def server_options() -> set[str]:
    """Long options of ``lmcache server``, and a few of its siblings, without dashes in front."""
    found: set[str] = set()
    for path, text in _sources():
        if path.name == "config.py":
            found |= set(re.findall(r'^\s+"--([a-z0-9-]+)",', text, re.MULTILINE))
            found |= set(re.findall(r'add_argument\(\s*"--([a-z0-9-]+)"', text))
    return found


def _similar(name: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, known, n=3, cutoff=0.7)


@functools.cache
def _source_names(pattern: str) -> frozenset[str]:
    return frozenset(
        name for _path, text in _sources() for name in re.findall(rf"\b{pattern}", text)
    )


@functools.cache
def _sources() -> tuple[tuple[Path, str], ...]:
    """The Python source of LMCache and of vLLM's side of it."""
    found: list[tuple[Path, str]] = []
    for package, part, pattern in (("lmcache", "", "*.py"), ("vllm", _VLLM_PART, "lmcache*.py")):
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            paths = [*(Path(root) / part).rglob(pattern)]
            if part:
                paths += (Path(root) / part).glob("lmcache_integration/*.py")
            for path in paths:
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    found.append((path, path.read_text("utf-8")))
    return tuple(found)


def _hashes_differ(algorithm: str | None) -> bool:
    """Whether two processes started separately hash the same tokens differently."""
    if os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "spawn") != "spawn":
        return False  # forked processes share their parent's seed
    seed = os.environ.get("PYTHONHASHSEED", "")
    try:
        from vllm.utils.hashing import get_hash_fn_by_name
        from vllm.v1.core import kv_cache_utils
    except ImportError:
        return False
    name = "sha256_cbor" if algorithm == "sha256_cbor_64bit" else str(algorithm)
    try:
        get_hash_fn_by_name(name)
    except (ImportError, ValueError):
        # LMCache falls back to Python's own hash, which "random" and "" leave random.
        return seed in {"", "random"}
    if seed:
        return False
    fixed = hasattr(kv_cache_utils, "DEFAULT_NONE_HASH_SEED")
    return not fixed or name.startswith("xxhash")
