"""The names of LMCache that its source has, and the deployment's names that it has not.

They are taken from the text, because importing all of it would need what a server has.
"""

import contextlib
import difflib
import functools
import importlib.util
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

PREFIX = "LMCACHE_"
_WRONG_PREFIXES = ("LMCACHE_LMCACHE_", "LM_CACHE_")
_VLLM_PART = "distributed/kv_transfer/kv_connector/v1"
# What LMCacheMPConnector is made of.
_MP_FILES = re.compile(r"lmcache_mp_|mp_server_|vllm_multi_process_adapter|lazy_offload")


def unread_keys(
    names: list[str], known: list[str], renamed: dict[str, str], accepted: set[str]
) -> dict[str, list[str]]:
    """Keys that LMCache does not have, each with similar ones, or with today's name of it."""
    found = {}
    for name in names:
        if name in known or name in accepted or name == "ec" or name.startswith("ec_"):
            continue  # an encoder cache has the same keys behind `ec_`
        bare = name.lower()
        while bare.startswith("lmcache_") and bare not in known:
            bare = bare.removeprefix("lmcache_")
        found[name] = [renamed[bare]] if bare in renamed else similar(bare, known)
    return found


def unread_variables(
    names: Iterable[str], known: list[str], in_source: AbstractSet[str] | None = None
) -> dict[str, list[str]]:
    """Variables named like LMCache's that neither its loader nor its source knows.

    ``in_source`` are the names that the source has; None: those of the installed one.
    """
    variables = {PREFIX + key.upper() for key in known}
    found: dict[str, list[str]] = {}
    for name in names:
        if name in variables or name.startswith(PREFIX + "EC_"):
            continue
        if in_source is None:
            in_source = source_names(r"LMCACHE_[A-Z0-9_]+")
        # A name that ends with an underscore is the start of other names.
        starts = tuple(n for n in in_source if n.endswith("_") and n != PREFIX)
        if name in in_source or (starts and name.startswith(starts)):
            continue
        meant = name
        for wrong in _WRONG_PREFIXES:
            meant = PREFIX + meant.removeprefix(wrong) if meant.startswith(wrong) else meant
        bare = [known.removeprefix(PREFIX) for known in sorted(variables | in_source - {PREFIX})]
        found[name] = [PREFIX + key for key in similar(meant.removeprefix(PREFIX), bare)]
    return found


def unread_server_keys(extra: dict[str, Any], known: list[str]) -> dict[str, list[str]]:
    """``lmcache.*`` keys of LMCacheMPConnector that its source does not have.

    ``known`` are the settings of LMCache in the vLLM process, which mean nothing there.
    """
    names = source_names(r"lmcache\.mp\.[a-z0-9_.]+")
    unread = unread_mp_keys(extra, names | _defaults_of_the_adapter() if names else names)
    for name in extra:
        if name.removeprefix("lmcache.") in known and name.startswith("lmcache."):
            in_source = any(
                f'"{name}"' in text for path, text in sources() if _MP_FILES.match(path.name)
            )
            if not in_source:
                unread[name] = []
    return unread


def unread_mp_keys(extra: Iterable[str], names: AbstractSet[str]) -> dict[str, list[str]]:
    """``lmcache.mp.*`` keys that are none of ``names``; nothing where there are none of those."""
    if not names:
        return {}
    known = {name.rstrip(".") for name in names if not name.endswith("_")}
    starts = tuple(name for name in names if name.endswith("_"))
    bare = sorted(name.removeprefix("lmcache.mp.") for name in known)
    return {
        key: [f"lmcache.mp.{near}" for near in similar(key.removeprefix("lmcache.mp."), bare)]
        for key in extra
        if key.startswith("lmcache.mp.") and key not in known and not key.startswith(starts)
    }


def _defaults_of_the_adapter() -> set[str]:
    text = "\n".join(t for p, t in sources() if p.name == "vllm_multi_process_adapter.py")
    body = re.search(r"^class ExtraConfigDefault\b.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    keys = re.findall(r"^    ([a-z_]+)\s*=", body[0], re.MULTILINE) if body else []
    return {f"lmcache.mp.{key}" for key in keys}


def server_options() -> set[str]:
    """Long options of ``lmcache server``, and a few of its siblings, without dashes in front."""
    found: set[str] = set()
    for path, text in sources():
        if path.name == "config.py":
            found |= set(re.findall(r'^\s+"--([a-z0-9-]+)",', text, re.MULTILINE))
            found |= set(re.findall(r'add_argument\(\s*"--([a-z0-9-]+)"', text))
    return found


def similar(name: str, known: Iterable[str]) -> list[str]:
    return [*_similar(name, tuple(known))]


@functools.lru_cache(maxsize=1024)
def _similar(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    return (*difflib.get_close_matches(name, known, n=3, cutoff=0.7),)


@functools.cache
def source_names(pattern: str) -> frozenset[str]:
    return frozenset(
        name for _path, text in sources() for name in re.findall(rf"\b{pattern}", text)
    )


@functools.cache
def sources() -> tuple[tuple[Path, str], ...]:
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
