"""Rules about deployments that were given in one call and belong together."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Protocol

from hmactl.catalogue.connectors import connector_facts
from hmactl.deployment.deployment import Connector
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case


class RuleTogether(Protocol):
    """A rule module that looks at several deployments. Its docstring is its explanation."""

    @property
    def ID(self) -> str:  # noqa: N802 - a constant of the module
        """Stable for ever."""
        ...

    @property
    def SEVERITY(self) -> Severity:  # noqa: N802
        """Of all its findings."""
        ...

    def check_together(self, cases: Sequence[Case], /) -> Iterable[tuple[Case, Finding]]:
        """Each finding with the case that it is about."""
        ...


def transfers(case: Case) -> tuple[Connector, ...]:
    """The connectors, children included, that move KV cache between servers, as written."""
    if case.facts.connector is None:
        return ()
    return tuple(c for c in case.facts.connector.walk() if _transfers(c.name))


def pairs(cases: Sequence[Case]) -> Iterator[tuple[Case, Case]]:
    """Prefill and decode servers of the same model that a transfer connector joins.

    Only those whose roles say which is which: with `kv_both` nobody can tell.
    """
    joining = [(case, transfers(case)) for case in cases]
    joining = [(case, connectors) for case, connectors in joining if connectors]
    for (prefill, senders), (decode, takers) in permutations(joining, 2):
        if prefill.facts.deployment.model.value != decode.facts.deployment.model.value:
            continue
        sends = {c.name for c in senders if c.role == "kv_producer"}
        takes = {c.name for c in takers if c.role == "kv_consumer"}
        if sends & takes:
            yield prefill, decode


def _transfers(name: str) -> bool:
    facts = connector_facts(name)
    return facts is not None and facts.purpose == "transfer"
