"""The settings of LMCache in the vLLM process, per version, and how each version reads them.

Data: data/lmcache.json, read from the source of released wheels, and what data/kv-transfer.json
says of vLLM's own connectors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from hmactl.catalogue.connector_versions import by_version
from hmactl.catalogue.data_file import load
from hmactl.catalogue.neighbours import neighbours

Unreadable = Literal["default", "none", "ends"]
"""What comes of a value that does not convert: the default, nothing, or the end of the loader."""


@dataclass(frozen=True, slots=True)
class Key:
    """A setting. ``default`` "inf" is infinity; ``converter`` None: there is none."""

    type: str
    default: Any
    converter: str | None


@dataclass(frozen=True, slots=True)
class Loading:
    """How LMCache reads its settings; the data file's ``about`` says what each field means."""

    over_file: bool
    unquotes: bool
    unreadable_variable: Unreadable
    unreadable_in_file: Unreadable
    file_address_checked: bool
    file_checked: Literal["before variables", "at the end", "never"]
    variables_checked: bool
    makes_instance_id: bool
    connector_keys: Literal["ignored", "as written", "converted"]
    connector_json: bool
    hashes_by_name: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One step of LMCache's checks, taken when all conditions of ``when`` hold.

    It refuses, or sets ``key`` to what ``to`` comes to, or forgets the ``item`` of ``key``.
    """

    when: tuple[str, ...]
    refuses: bool = False
    key: str | None = None
    to: str | None = None
    item: str | None = None


@dataclass(frozen=True, slots=True)
class LMCacheConfig:
    """One release. ``aliases`` are older names with today's, ``taken`` those that it still takes.

    ``deprecated`` are names that it warns of and ignores otherwise. ``names`` are variables and
    connector keys that its source has.
    """

    version: str
    keys: Mapping[str, Key]
    aliases: Mapping[str, str]
    taken: frozenset[str]
    deprecated: frozenset[str]
    names: frozenset[str]
    loading: Loading
    checks: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Hashing:
    """How a vLLM hashes: the names of its algorithms, and whether the first hash of a chain has a
    fixed seed where PYTHONHASHSEED is not set."""

    names: frozenset[str]
    fixed_seed: bool


def lmcache_configs(version: str | None) -> tuple[LMCacheConfig, ...]:
    """The releases that answer for that version of LMCache, the oldest first.

    Those around it where it was not read itself, every release where it is None, and none where it
    is older or newer than all that were read, or no version.
    """
    versions = (*_data("lmcache.json")["versions"],)
    answering = versions if version is None else neighbours(version, versions)
    return tuple(_release(one) for one in answering)


@cache
def names_in_vllm(version: str | None) -> frozenset[str]:
    """LMCache's variables and connector keys that vLLM's own source has.

    Those of any release where the version is None or was not read.
    """
    data = _data("kv-transfer.json")
    named = _named(data["lmcache"], [*data["versions"]])
    return frozenset(name for one in _around(version, data) for name in named[one])


@cache
def hashing_of_vllm(version: str | None) -> tuple[Hashing, ...]:
    """Of the releases that answer for that version of vLLM; of any where it was not read."""
    data = _data("kv-transfer.json")
    facts = dict(by_version(data["hashing"], [*data["versions"]]))
    return tuple(
        Hashing(frozenset(facts[one]["names"]), facts[one]["fixed_seed"])
        for one in _around(version, data)
    )


def _around(version: str | None, data: dict[str, Any]) -> tuple[str, ...]:
    versions = (*data["versions"],)
    return (() if version is None else neighbours(version, versions)) or versions


@cache
def _release(version: str) -> LMCacheConfig:
    keys, old, names, loading, checks = (part[version] for part in _parts())
    return LMCacheConfig(
        version,
        {name: _key(facts) for name, facts in keys.items()},
        {name: f["today"] for name, f in old.items() if f["today"] is not None},
        frozenset(name for name, f in old.items() if f["taken"]),
        frozenset(name for name, f in old.items() if f["today"] is None),
        frozenset(names),
        Loading(**loading),
        tuple(_step(step) for step in checks["steps"]),
    )


@cache
def _parts() -> tuple[dict[str, dict[str, Any]], ...]:
    """Keys, old names, names, loading and checks, each by version."""
    data = _data("lmcache.json")
    versions = [*data["versions"]]
    named = (_named(data[part], versions) for part in ("keys", "old_names", "names"))
    return (*named, *(dict(by_version(data[part], versions)) for part in ("loading", "checks")))


def _named(part: dict[str, Any], versions: list[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {version: {} for version in versions}
    for name, runs in part.items():
        for version, facts in by_version(runs, versions):
            found[version][name] = facts
    return found


def _key(facts: dict[str, Any]) -> Key:
    return Key(facts["type"], facts["default"], facts.get("converter"))


def _step(facts: dict[str, Any]) -> Step:
    return Step(**facts | {"when": tuple(facts["when"])})


@cache
def _data(name: str) -> dict[str, Any]:
    data: dict[str, Any] = load(name)
    return data
