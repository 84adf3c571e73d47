"""What the installed LMCache makes of the deployment's settings.

Its own loader is asked, with the deployment's environment, file and connectors.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from . import lmcache_remote, lmcache_server
from .lmcache_source import (
    PREFIX,
    server_options,
    similar,
    source_names,
    sources,
    unread_keys,
    unread_server_keys,
    unread_variables,
)

_IN_PROCESS = "LMCacheConnectorV1"
_MP = "LMCacheMPConnector"
_FILE = "LMCACHE_CONFIG_FILE"


def concerns(request: dict[str, Any]) -> bool:
    """Whether LMCache has a part in that request."""
    arguments = [argument for flag in request["flags"] for argument in flag["arguments"]]
    named = any("lmcache" in argument.lower() for argument in arguments)
    return bool(request["lmcache_keys"]) or request["lmcache_server"] is not None or named


def effective(request: dict[str, Any]) -> dict[str, Any] | None:
    """The loader's values, what it cannot read, and the names that nothing reads.

    The names are LMCache's keys and environment variables as the deployment has them, and the keys
    of its file; the connectors' extra configuration is found in the flags. Reads the environment of
    this process as LMCache in the engine would. None where LMCache is not installed or has no such
    loader.
    """
    try:
        from lmcache.v1.config import _CONFIG_DEFINITIONS, LMCacheEngineConfig
    except ImportError:
        return None
    known = list(_CONFIG_DEFINITIONS)
    names, file = request["lmcache_keys"], request["lmcache_file"]
    renamed, accepted = _old_names()
    connectors = list(_connectors(request["flags"]))
    in_process = [extra for name, extra in connectors if name.startswith(_IN_PROCESS)]
    served = [extra for name, extra in connectors if name == _MP]
    keys = [name for name in names if name == name.lower()]
    variables = [name for name in names if name != name.lower()]
    unknown = unread_keys(keys, known, renamed, accepted)
    unknown |= unread_variables(variables, [*known, *accepted])
    for name in {PREFIX + old.upper() for old in renamed} & unknown.keys():
        unknown[name] = [PREFIX + renamed[name.removeprefix(PREFIX).lower()].upper()]
    file_keys = [] if file is None else file["keys"]
    with _file_in_place(file):
        loaded, refusal = _load(LMCacheEngineConfig)
    unreadable = _unreadable_variables(_CONFIG_DEFINITIONS, renamed, accepted)
    for extra in in_process:
        unread, dropped = _apply(loaded, extra, known)
        unknown |= unread
        unreadable += dropped
    for extra in served:
        unknown |= unread_server_keys(extra, known)
    values = {} if loaded is None else _plain({k: getattr(loaded, k) for k in known})
    server = request["lmcache_server"]
    return {
        "values": values,
        "defaults": _plain(_defaults(_CONFIG_DEFINITIONS)),
        "old_names": {old: renamed[old] for old in accepted},
        "unknown": unknown,
        "unknown_in_file": unread_keys(file_keys, known, renamed, accepted),
        "unreadable": unreadable,
        "refusal": refusal,
        "hashes_differ": loaded is not None and _hashes_differ(loaded.pre_caching_hash_algorithm),
        "hash_loads": None if loaded is None else _loads(loaded.pre_caching_hash_algorithm),
        "remotes": lmcache_remote.refusals(values) if in_process else {},
        "server_options": sorted(server_options()) if served or server is not None else [],
        "server_refusal": None if server is None else lmcache_server.refusal(server),
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


@contextlib.contextmanager
def _file_in_place(file: dict[str, Any] | None) -> Iterator[None]:
    """A file that the deployment brings along, such as a ConfigMap's, for as long as it is read."""
    if file is None or file["text"] is None or os.path.exists(file["path"]):  # noqa: PTH110
        yield
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as copy:
        copy.write(file["text"])
        copy.flush()
        os.environ[_FILE] = copy.name
        yield
        os.environ[_FILE] = file["path"]


def _load(loader: Any) -> tuple[Any, str | None]:
    """The configuration from file and environment, and why LMCache itself would refuse it."""
    function, file = _loading_function(), os.environ.get(_FILE)
    try:
        if file is not None:
            loaded = loader.from_file(file)
            if "update_config_from_env" in function:
                loaded.update_config_from_env()
        else:
            loaded = loader.from_env()
    except OSError as error:
        # The file may be where the server will run, and not here.
        return None, None if file else _words(error)
    except Exception as error:  # noqa: BLE001 - whatever LMCache raises is its answer
        return None, _words(error)
    if file is not None or ".validate()" not in function:
        return loaded, None  # beside a file, it is for the update to check them
    try:
        loaded.validate()
    except Exception as error:  # noqa: BLE001
        # A value that the loader could not read is None by now, and said so already.
        return loaded, None if isinstance(error, TypeError) else _words(error)
    return loaded, None


def _loading_function() -> str:
    """The source of the function by which vLLM's connector gets LMCache's settings."""
    for path, text in sources():
        if path.name == "utils.py" and path.parent.name == "vllm":
            found = text.partition("def lmcache_get_")[2]
            return found.partition("\ndef ")[0]
    return ""


def _unreadable_variables(
    definitions: dict[str, Any], renamed: dict[str, str], accepted: set[str]
) -> list[str]:
    """Variables of this process whose text LMCache's own converters refuse."""
    try:
        from lmcache.v1.config import _parse_quoted_string as unquoted
    except ImportError:
        unquoted = str
    found = []
    for name in [*definitions, *sorted(accepted)]:
        variable = PREFIX + name.upper()
        convert = definitions[renamed.get(name, name)].get("env_converter")
        if variable in os.environ and convert is not None:
            # Whatever else a converter raises ends the loader too.
            with contextlib.suppress(Exception):
                found += [variable] if _refuses(convert, unquoted(os.environ[variable])) else []
    return found


def _refuses(convert: Any, value: str) -> bool:
    try:
        convert(value)
    except ValueError:  # JSON's own error is one
        return True
    return False


def _words(error: Exception) -> str:
    from .evidence import words

    return words(error)


def _defaults(definitions: dict[str, Any]) -> dict[str, Any]:
    """What the loader gives where nothing is set."""
    found = {}
    for name, definition in definitions.items():
        value, convert = definition["default"], definition.get("env_converter")
        if value is not None and convert is not None:
            with contextlib.suppress(Exception):
                value = convert(value)
        found[name] = value
    return found


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(values, default=str).replace("Infinity", '"inf"')
    return json.loads(text)  # type: ignore[no-any-return]


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


def _apply(
    loaded: Any, extra: dict[str, Any], known: list[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Put ``lmcache.*`` of a connector into the configuration.

    Returns the keys that nothing reads, and those whose values LMCache does not take.
    """
    unknown: dict[str, list[str]] = {}
    unreadable = []
    put = _setter()
    for name, value in extra.items():
        key = name.removeprefix("lmcache.")
        if key == name:
            continue
        if key in known:
            if put is not None and loaded is not None and not put(loaded, key, value):
                unreadable.append(name)
        elif key.startswith("mp.") or name not in source_names(r"lmcache\.[a-z0-9_.]+"):
            unknown[name] = [f"lmcache.{near}" for near in similar(key, known)]
    return unknown, unreadable


def _setter() -> Any:
    """The function by which LMCache's connector puts one value into the configuration."""
    for module, name in (
        ("lmcache.v1.config_base", "validate_and_set_config_value"),
        ("lmcache.v1.config", "_validate_and_set_config_value"),
    ):
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(__import__(module, fromlist=[name]), name)
    return None


def _loads(algorithm: str | None) -> bool | None:
    """Whether vLLM has that hash algorithm; None where that cannot be asked."""
    try:
        from vllm.utils.hashing import get_hash_fn_by_name
    except ImportError:
        return None
    name = "sha256_cbor" if algorithm == "sha256_cbor_64bit" else str(algorithm)
    try:
        get_hash_fn_by_name(name)
    except (ImportError, ValueError):
        return False
    return True


def _hashes_differ(algorithm: str | None) -> bool:
    """Whether two processes started separately hash the same tokens differently."""
    if os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "spawn") != "spawn":
        return False  # forked processes share their parent's seed
    seed = os.environ.get("PYTHONHASHSEED", "")
    try:
        from vllm.v1.core import kv_cache_utils
    except ImportError:
        return False
    loads = _loads(algorithm)
    if loads is None:
        return False
    if not loads:
        # LMCache falls back to Python's own hash, which "random" and "" leave random.
        return seed in {"", "random"}
    if seed:
        return False
    fixed = hasattr(kv_cache_utils, "DEFAULT_NONE_HASH_SEED")
    return not fixed or str(algorithm).startswith("xxhash")
