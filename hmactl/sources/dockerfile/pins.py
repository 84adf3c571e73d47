"""The releases of vLLM and LMCache that an image's build installs."""

import re
from collections.abc import Iterator

_COMMAND = re.compile(r"&&|\|\||[;|\n]")
_INSTALLERS = frozenset({"pip", "pip3", "uv", "poetry", "conda", "mamba"})
_UPGRADES = frozenset({"-U", "--upgrade", "--force-reinstall", "--pre"})
_CLONED = re.compile(r"\S*/(vllm|lmcache)(?:\.git)?", re.IGNORECASE)
_LONGEST = 500
_REQUIREMENT = re.compile(r"(vllm|lmcache)(?:\[[^\]]*\])?(.*)", re.IGNORECASE)
_WHEEL = re.compile(r"(?:.*/)?(vllm|lmcache)-(\d+\.\d+\.\d+[^-+]*)[^/]*\.whl.*", re.IGNORECASE)
_VERSION = re.compile(r"={2,3}v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|a|b|dev)\d+)?)(?:\+\S*)?")
_FROM_SOURCE = re.compile(r".*[/@](vllm|lmcache)(?:\.git)?(?:[@#/].*)?", re.IGNORECASE)


def installed(command: str) -> Iterator[tuple[str, str | None]]:
    """Which of ``vllm`` and ``lmcache`` a command line of a shell installs, in their order.

    The release is None where the line does not tell it. What is only asked for, and may be there
    already, is left out.
    """
    for one in _COMMAND.split(command):
        words = [word.strip("\"'") for word in one.split() if len(word) <= _LONGEST]
        if "clone" in words and "git" in words:
            cloned = (_CLONED.fullmatch(word) for word in words)
            yield from ((match[1].lower(), None) for match in cloned if match is not None)
        names = {word.rpartition("/")[2] for word in words}
        if names.isdisjoint(_INSTALLERS) or names.isdisjoint({"install", "add"}):
            continue
        upgrades = not _UPGRADES.isdisjoint(words)
        for word in words:
            if (found := _package(word, upgrades=upgrades)) is not None:
                yield found


def _package(word: str, *, upgrades: bool) -> tuple[str, str | None] | None:
    if (wheel := _WHEEL.fullmatch(word)) is not None:
        return wheel[1].lower(), wheel[2]
    if (requirement := _REQUIREMENT.fullmatch(word)) is not None:
        name, rest = requirement[1].lower(), requirement[2]
        version = _VERSION.fullmatch(rest)
        if version is not None:
            return name, version[1]
        changes = rest.startswith(("=", "~", "<", "@", "!")) or (upgrades and rest[:1] in {"", ">"})
        return (name, None) if changes else None
    if "://" in word and (source := _FROM_SOURCE.fullmatch(word)) is not None:
        return source[1].lower(), None
    return None
