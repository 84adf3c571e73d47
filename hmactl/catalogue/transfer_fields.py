"""Which fields vLLM's KVTransferConfig has on which version, and what becomes of others.

Data: data/kv-transfer.json, read from the source of released wheels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from hmactl.catalogue.connector_versions import by_version
from hmactl.catalogue.data_file import load
from hmactl.catalogue.neighbours import answering


class Others(StrEnum):
    """What becomes of a field that KVTransferConfig does not have."""

    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TransferFields:
    """``others`` and ``fields`` of one release of vLLM."""

    version: str
    others: Others
    fields: frozenset[str]


def transfer_fields(version: str | None) -> tuple[TransferFields, ...]:
    """The releases that answer for that version of vLLM, the oldest first.

    Those around it where it was not read itself, every release where it is None, and none where it
    is older or newer than all that were read, or no version.
    """
    return answering(version, _releases())


def have(releases: Iterable[TransferFields], field: str) -> bool:
    """Whether any of them has the field."""
    return any(field in release.fields for release in releases)


def releases_with(field: str) -> tuple[str, ...]:
    """Every version that has the field, the oldest first."""
    return tuple(release.version for release in _releases() if field in release.fields)


@cache
def _releases() -> tuple[TransferFields, ...]:
    data = load("kv-transfer.json")
    versions = [*data["versions"]]
    fields: dict[str, set[str]] = {version: set() for version in versions}
    for name, runs in data["fields"].items():
        for version, _facts in by_version(runs, versions):
            fields[version].add(name)
    return tuple(
        TransferFields(version, Others(facts["are"]), frozenset(fields[version]))
        for version, facts in by_version(data["others"], versions)
    )
