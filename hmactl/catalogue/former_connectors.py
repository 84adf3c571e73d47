"""Connectors that were removed, renamed or given up, and what to use instead."""

from dataclasses import dataclass
from functools import cache

from hmactl.catalogue.data_file import load


@dataclass(frozen=True, slots=True)
class FormerConnector:
    """``why`` completes "NAME ...", ``instead`` is the fix."""

    name: str
    why: str
    instead: str
    source: str


def former_connector(name: str) -> FormerConnector | None:
    """What became of a connector; None for one that nothing is known to have happened to."""
    return _by_name().get(name)


@cache
def _by_name() -> dict[str, FormerConnector]:
    data = load("former-connectors.json")
    return {name: FormerConnector(name, **facts) for name, facts in data["connectors"].items()}
