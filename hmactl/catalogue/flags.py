"""The options of ``vllm serve`` and of ``lmcache server`` per version, and how they take values.

Data: data/flags.json, from the argument parsers of released versions, and data/lmcache-server.json,
from their source.
"""

import difflib
import functools
from dataclasses import dataclass
from typing import Any, Literal

from packaging.version import InvalidVersion, Version

from hmactl.catalogue.data_file import load
from hmactl.catalogue.version import parsed

Takes = Literal["nothing", "one", "several"]
_VLLM, _LMCACHE_SERVER = "flags.json", "lmcache-server.json"


@dataclass(frozen=True, slots=True)
class Flag:
    """An option by its long dashed name, without dashes in front.

    ``takes`` None: versions disagree, and it is not known which this is. ``negative``: it was asked
    for by its ``--no-`` form. ``shortened``: it was asked for by a beginning of its name, which
    vLLM's parser accepts where only one option begins so.
    """

    name: str
    takes: Takes | None
    choices: tuple[str, ...] = ()
    negative: bool = False
    shortened: bool = False


class Flags:
    """The options of one version of a program; of all versions together where it is not known."""

    def __init__(self, spellings: dict[str, Flag]) -> None:
        self._spellings = spellings

    def __contains__(self, written: str) -> bool:
        return written in self._spellings

    def spellings(self) -> frozenset[str]:
        """Everything that can be written, dashes in front: long names, aliases, --no- forms."""
        return frozenset(self._spellings)

    def similar(self, written: str) -> tuple[str, ...]:
        """Spellings that it may have been meant for, the likeliest first."""
        return tuple(difflib.get_close_matches(written, self._spellings, n=3, cutoff=0.7))

    def find(self, written: str) -> Flag | None:
        """The option that is meant, dashes in front: a name, an alias, or a beginning of one name.

        None where there is no such option, or where several begin so.
        """
        if (flag := self._spellings.get(written)) is not None:
            return flag
        if not written.startswith("--"):
            return None
        meant = {name: flag for name, flag in self._spellings.items() if name.startswith(written)}
        if len(meant) != 1:
            return None
        flag = next(iter(meant.values()))
        return Flag(flag.name, flag.takes, flag.choices, flag.negative, shortened=True)


@functools.cache
def vllm_flags(version: str | None = None) -> Flags:
    """The options of that vLLM version.

    A version between two that were read is taken for the older one. Where it is None, or outside of
    those that were read, the options of all of them are meant.
    """
    return _flags(_data(_VLLM), version)


@functools.cache
def lmcache_server_flags(version: str | None = None) -> Flags:
    """The options of that LMCache version's server, as `vllm_flags`.

    Before there was `lmcache server` (0.4.3) they are those of the modules that were started then.
    """
    return _flags(_data(_LMCACHE_SERVER), version)


def read_versions() -> tuple[str, ...]:
    """The vLLM versions whose options are known, oldest first."""
    return tuple(_data(_VLLM)["versions"])


def _flags(data: dict[str, Any], version: str | None) -> Flags:
    known = [parsed(one) for one in data["versions"]]
    wanted = _within(version, known)
    spellings: dict[str, Flag] = {}
    for name, runs in data["options"].items():
        facts = [
            run
            for run in runs
            if wanted is None or parsed(run["from"]) <= wanted <= parsed(run["to"])
        ]
        if not facts:
            continue
        takes = {run["takes"] for run in facts}
        choices = facts[-1].get("choices", ()) if wanted is not None else ()
        flag = Flag(name, takes.pop() if len(takes) == 1 else None, tuple(choices))
        spellings[f"--{name}"] = flag
        off = {alias for run in facts for alias in run.get("negative", ())}
        for alias in {alias for run in facts for alias in run.get("aliases", ())}:
            negative = alias.startswith("--no-") or alias in off
            spellings[alias] = Flag(name, flag.takes, flag.choices, negative=negative)
    return Flags(spellings)


def _within(version: str | None, known: list[Version]) -> Version | None:
    if version is None:
        return None
    try:
        wanted = parsed(version)
    except InvalidVersion:
        return None
    older = [one for one in known if one <= wanted]
    if not older or wanted.release[:2] > known[-1].release[:2]:
        return None
    return older[-1]


@functools.cache
def _data(name: str) -> dict[str, Any]:
    data: dict[str, Any] = load(name)
    return data
