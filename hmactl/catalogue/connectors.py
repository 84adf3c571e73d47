"""What the connectors of vLLM's registry are for."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from hmactl.catalogue.data_file import load

_ANY_PURPOSE = ("offload", "transfer")


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """``purpose``: offload, transfer, debug or special; ``what`` completes "this is ...";
    ``needs`` is what else the change to it takes."""

    name: str
    purpose: str
    what: str
    needs: str | None = None


def connector_facts(name: str) -> ConnectorFacts | None:
    """What is known about a connector by its registry name."""
    return _by_name().get(name)


def alternatives(connector: str | None, candidates: Iterable[str]) -> tuple[ConnectorFacts, ...]:
    """Those candidates that do the same job as ``connector``, the most likely choice first.

    For a connector that the catalogue does not know, any that offloads or transfers.
    """
    known = None if connector is None else connector_facts(connector)
    purposes = (known.purpose,) if known and known.purpose in _ANY_PURPOSE else _ANY_PURPOSE
    wanted = set(candidates) - {connector}
    return tuple(
        facts for facts in _by_name().values() if facts.name in wanted and facts.purpose in purposes
    )


@cache
def _by_name() -> dict[str, ConnectorFacts]:
    data = load("connectors.json")
    return {name: ConnectorFacts(name, **facts) for name, facts in data["connectors"].items()}
