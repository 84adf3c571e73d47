"""Combinations of releases and settings that are known to fail."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.version import InvalidVersion

from hmactl.catalogue.data_file import load
from hmactl.catalogue.version import parsed


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """One combination: what it takes (empty: anything), what happens, and who says so."""

    symptom: str
    fix: str
    source: str
    vllm: str = ""
    lmcache: str = ""
    connectors: tuple[str, ...] = ()
    bundled: bool = False
    architectures: tuple[str, ...] = ()
    mamba: str = ""
    speculative: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    server_options: tuple[str, ...] = ()
    unless_off: tuple[str, ...] = ()
    l2_adapter_mentions: str = ""
    several_groups: bool = False

    def concerns(self, vllm: str, lmcache: str | None) -> bool:
        """Whether those releases are among its own; False where a version cannot be read."""
        return _within(self.vllm, vllm) and (
            not self.lmcache or (lmcache is not None and _within(self.lmcache, lmcache))
        )


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """All of them."""
    data = load("known-issues.json")
    return tuple(_issue(facts) for facts in data["issues"])


def _issue(facts: dict[str, Any]) -> KnownIssue:
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    return KnownIssue(**given)


def _within(specifier: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    try:
        # A local part tells a build (`+cu129`), not a release.
        release = parsed(parsed(version).public)
    except InvalidVersion:
        return False
    return SpecifierSet(specifier).contains(release, prereleases=True)
