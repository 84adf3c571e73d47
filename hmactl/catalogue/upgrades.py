"""Which newer release lets a deployment keep HMA, without an engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from hmactl.catalogue.connector_versions import (
    NOT_INSTALLED,
    Hma,
    connector_support,
    known_connectors,
    lmcache_releases,
    vllm_releases,
)
from hmactl.catalogue.connectors import alternatives
from hmactl.catalogue.limits import Limit


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The first release of ``package`` ("vLLM" or "LMCache") with which ``connector`` supports
    HMA, the other package staying as it is."""

    connector: str
    package: str
    version: str


def upgrades(
    connector: str,
    vllm: str,
    lmcache: str | None,
    environment: Mapping[str, str],
    limits: Sequence[Limit] = (),
) -> tuple[Upgrade, ...]:
    """Newer releases with which the connector itself supports HMA; where there are none and this
    vLLM has no other connector for the job that does, those with which another does first.

    ``lmcache`` None is that there is none. ``limits`` are those that the model brings along: a
    release that is not past them is of no help.
    """
    installed = lmcache or NOT_INSTALLED

    def keeps(name: str, engine: str, cache: str) -> bool:
        support = connector_support(engine, cache, name, environment=environment)
        return support.hma is Hma.YES and all(limit.is_past(engine) for limit in limits)

    own = [
        *_first(
            connector,
            "LMCache",
            _newer(installed, [r.version for r in lmcache_releases()]),
            lambda version: keeps(connector, vllm, version),
        ),
        *_first(
            connector,
            "vLLM",
            _newer(vllm, [r.version for r in vllm_releases()]),
            lambda version: keeps(connector, version, installed),
        ),
    ]
    others = [c.name for c in alternatives(connector, known_connectors())]
    if own or any(keeps(name, vllm, installed) for name in others):
        return tuple(own)
    for version in _newer(vllm, [r.version for r in vllm_releases()]):
        having = [name for name in others if keeps(name, version, installed)]
        if having:
            return tuple(Upgrade(name, "vLLM", version) for name in having)
    return ()


def _first(
    connector: str, package: str, versions: Sequence[str], keeps: Callable[[str], bool]
) -> tuple[Upgrade, ...]:
    found = next((version for version in versions if keeps(version)), None)
    return () if found is None else (Upgrade(connector, package, found),)


def _newer(version: str, known: Sequence[str]) -> list[str]:
    """Newer versions of those known, the oldest first; none where it is no version."""
    try:
        than = Version(version)
    except InvalidVersion:
        return []
    return [other for other in known if Version(other) > than]
