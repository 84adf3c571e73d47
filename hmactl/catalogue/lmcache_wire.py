"""Which releases of LMCache speak to each other as MP server and connector."""

import json
from functools import cache
from importlib.resources import files

from packaging.version import InvalidVersion, Version


def same_wire(one: str, other: str) -> bool | None:
    """Whether their requests are alike; None where one of the releases was not read."""
    groups = [_group(one), _group(other)]
    return None if None in groups else groups[0] == groups[1]


def _group(version: str) -> int | None:
    try:
        # A local part tells a build (`+cu129`), not a release.
        return _groups().get(Version(Version(version).public))
    except InvalidVersion:
        return None


@cache
def _groups() -> dict[Version, int]:
    data = json.loads(files(__package__).joinpath("data/lmcache-wire.json").read_text("utf-8"))
    return {
        Version(version): number
        for number, versions in enumerate(data["groups"])
        for version in versions
    }
