"""Which releases of LMCache speak to each other as MP server and connector."""

from functools import cache

from packaging.version import InvalidVersion, Version

from hmactl.catalogue.data_file import load


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
    data = load("lmcache-wire.json")
    return {
        Version(version): number
        for number, versions in enumerate(data["groups"])
        for version in versions
    }
