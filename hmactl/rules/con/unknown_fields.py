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
from hmactl.deployment.deployment import Connector
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Origin
from hmactl.finding import Edit
from hmactl.rules.case import Case
from hmactl.rules.misspelt import meant, renamed

# A profile has keys of its own for them.
_NO_OPTIONS = frozenset(
    {"kv_connector", "kv_role", "kv_connector_module_path", "kv_connector_extra_config"}
)


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that none of ``releases`` has."""

    name: str
    origin: Origin
    edit: Edit | None
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


def field_edit(case: Case, connector: Connector, name: str, fields: Iterable[str]) -> Edit | None:
    """The field that was meant instead, where that is certain."""
    similar = difflib.get_close_matches(name, sorted(fields), n=2, cutoff=0.7)
    taken = {key for key, _origin in connector.places}
    if case.facts.deployment.form is Form.PROFILE:
        taken |= _NO_OPTIONS
    return renamed(connector, name, meant(name, similar, taken))


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
                elsewhere = releases_with(name)
                edit = None if elsewhere else field_edit(case, one, name, releases[-1].fields)
                yield UnknownField(name, one.place_of(name) or one.origin, edit, releases)
