"""Fields of a connector that KVTransferConfig does not have, by the catalogue: shared by rules."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hmactl.catalogue.transfer_fields import (
    Others,
    TransferFields,
    have,
    releases_with,
    transfer_fields,
)
from hmactl.deployment.setting import Origin
from hmactl.rules.case import Case


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that none of ``releases`` has."""

    name: str
    origin: Origin
    releases: tuple[TransferFields, ...]

    @property
    def ignored(self) -> bool:
        """Whether any of the releases leaves it out without a word; the others refuse it."""
        return any(release.others is Others.IGNORED for release in self.releases)

    @property
    def message(self) -> str:
        """What is wrong."""
        first, last = self.releases[0].version, self.releases[-1].version
        if first == last:
            return f"vLLM {first} has no field `{self.name}` in its KVTransferConfig"
        return f"no vLLM from {first} to {last} has a field `{self.name}` in its KVTransferConfig"

    @property
    def fix(self) -> str:
        """What helps."""
        elsewhere = releases_with(self.name)
        if elsewhere:
            return f"remove it; vLLM {elsewhere[0]} to {elsewhere[-1]} has it"
        return suggestion(self.name, self.releases[-1].fields)


def suggestion(name: str, fields: Iterable[str]) -> str:
    """The fix for a name that is none of these fields."""
    similar = difflib.get_close_matches(name, sorted(fields), n=2, cutoff=0.7)
    if similar:
        return f"did you mean {' or '.join(f'`{one}`' for one in similar)}?"
    return "remove it; what the connector itself reads belongs into `kv_connector_extra_config`"


def unknown_fields(case: Case) -> Iterator[UnknownField]:
    """Where no engine was asked: fields that none of the releases has that it may be.

    Every supported release where the version is not known; nothing where it is none that was read.
    """
    connector = case.facts.connector
    releases = transfer_fields(case.facts.answer.versions.vllm or None)
    if connector is None or not releases:
        return
    for one in connector.walk():
        for name in one.options:
            if not have(releases, name):
                yield UnknownField(name, one.origin, releases)
