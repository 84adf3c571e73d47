"""The decision about HMA without an engine, from what is known of a deployment.

What is not known is not guessed: the decision is made for everything that it could be, and stands
where it comes out the same. Otherwise it is unknown, and what it hangs on is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import product

from hmactl.catalogue.connector_versions import (
    Child,
    Hma,
    VllmRelease,
    connector_support,
    releases_around,
    same_release,
    vllm_releases,
)
from hmactl.catalogue.hma_decision import (
    Circumstances,
    Enabling,
    HmaRules,
    configured,
    enabling,
)
from hmactl.deployment.policy import HmaPolicy
from hmactl.verdict.decide import Possibility, Situation, decide
from hmactl.verdict.verdict import Decision, Verdict


class ModelKind(StrEnum):
    """What a model's KV cache specs come to. ``UNIFIABLE``: several groups, or one with HMA off."""

    NO_CACHE = "no KV cache"
    ONE_GROUP = "one KV cache group"
    UNIFIABLE = "a hybrid model that can run without HMA"
    NOT_UNIFIABLE = "a hybrid model that cannot run without HMA"


_GROUPS = {ModelKind.NO_CACHE: 0, ModelKind.ONE_GROUP: 1}


@dataclass(frozen=True, slots=True)
class Connected:
    """The connector that vLLM ends up with. ``supports_hma`` None: its class does not load.

    ``late``: the offloading options create it after vLLM has decided about HMA. ``lacking`` names
    who lacks HMA, where it is a child.
    """

    name: str
    supports_hma: bool | None
    late: bool = False
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class World:
    """One thing that a deployment may be, with everything decided."""

    rules: HmaRules
    connector: Connected | None
    model: ModelKind
    circumstances: Circumstances


def situation(world: World, policy: HmaPolicy) -> Situation:
    """What the decision depends on, as a dry boot would find it in that world."""
    connector, rules = world.connector, world.rules
    broken = connector is not None and connector.supports_hma is None
    seen = None if connector is None or connector.late else connector.supports_hma

    def possibility(*, enable: bool) -> Possibility:
        if enable and connector is not None and connector.supports_hma is False:
            return Possibility(f"{connector.lacking or connector.name} does not support HMA")
        state = configured(rules, world.circumstances, seen, enable)
        if state.error is not None:
            return Possibility(state.error)
        if state.on is not enable:
            return Possibility("vLLM overrules the flag that asks for HMA on")
        if not enable and world.model is ModelKind.NOT_UNIFIABLE:
            return Possibility("the model's KV cache specs cannot be unified without HMA")
        return Possibility(None)

    return Situation(
        policy=policy,
        connector=None if connector is None else connector.name,
        supports_hma=None if connector is None else connector.supports_hma,
        groups=_GROUPS.get(world.model, 2),
        on=possibility(enable=True),
        off=possibility(enable=False),
        default_on=None if broken else configured(rules, world.circumstances, seen, None).on,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """A connector as configured; ``children`` are a MultiConnector's, None where not known."""

    name: str
    module_path: str | None = None
    children: tuple[Child, ...] | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a deployment; None is unknown, of ``connector`` that there is none.

    ``vllm`` and ``lmcache`` are versions, ``lmcache`` NOT_INSTALLED where there is none.
    ``offloading`` is the kv-offloading-backend where the offloading options are used, which
    replace the connector; "" is the release's own default. ``environment`` decides which class
    loads.
    """

    vllm: str | None
    lmcache: str | None
    connector: Asked | None
    model: ModelKind | None
    policy: HmaPolicy = HmaPolicy.AUTO
    offloading: str | None = None
    platform: str | None = "cuda"
    kv_events: bool | None = False
    chunks: bool | None = False
    allows_chunks: bool | None = None
    eagle: bool | None = False
    hisparse: bool | None = False
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)


# Deployments that were asked about, of which many are alike in a repository.
_KEPT = 1024
_Outcome = tuple[Decision, str | None, str | None]
_SUPPORTS = {True: "yes", False: "no", None: "none"}
_VERSION, _SUPPORT, _MODEL = "the vLLM version", "whether the connector supports HMA", "the model"


@lru_cache(maxsize=_KEPT)
def offline_verdict(known: Known) -> Verdict:
    """The verdict on what is known, by the same `decide` that judges a dry boot.

    UNKNOWN, with what it hangs on, where what is not known would change it.
    """
    releases = _releases(known.vllm)
    if not releases:
        return Verdict(
            Decision.UNKNOWN, None, None, f"nothing is known of vLLM {known.vllm}: it was not read"
        )
    answers: dict[tuple[tuple[str, str], ...], Verdict] = {}
    for release in releases:
        for names, world in _worlds(known, release):
            answers[((_VERSION, release.version), *names)] = decide(situation(world, known.policy))
    outcomes = {key: _outcome(verdict) for key, verdict in answers.items()}
    if len(set(outcomes.values())) == 1:
        return _as_of(next(reversed(answers.values())), known.vllm, releases)
    defaults = {verdict.engine_default for verdict in answers.values()}
    return Verdict(
        Decision.UNKNOWN,
        defaults.pop() if len(defaults) == 1 else None,
        None,
        _hangs_on(outcomes),
    )


@lru_cache(maxsize=_KEPT)
def explicit_enable(known: Known) -> Enabling | None:
    """What an explicit enable comes to; None where that is not known, or no class loads."""
    found = {
        enabling(world.rules, world.circumstances, _support(world.connector))
        if world.connector is None or world.connector.supports_hma is not None
        else None
        for release in _releases(known.vllm)
        for _names, world in _worlds(known, release)
    }
    return found.pop() if len(found) == 1 else None


def _support(connector: Connected | None) -> bool | None:
    return None if connector is None else connector.supports_hma


def _releases(version: str | None) -> Sequence[VllmRelease]:
    return vllm_releases() if version is None else releases_around(version)


def _worlds(
    known: Known, release: VllmRelease
) -> Iterable[tuple[tuple[tuple[str, str], ...], World]]:
    """Everything that a deployment may be with that vLLM, each with what was taken for unknown."""
    unknown = {
        "the platform": (known.platform, ("cuda", "another")),
        "--kv-events-config": (known.kv_events, (False, True)),
        "the model's attention": (known.chunks, (False, True)),
        "speculative decoding": (known.eagle, (False, True)),
        "HiSparse": (known.hisparse, (False, True)),
    }
    choices = [(value,) if value is not None else every for value, every in unknown.values()]
    connectors = _connectors(known, release)
    models = list(ModelKind) if known.model is None else [known.model]
    for (connector, model), rest in product(product(connectors, models), product(*choices)):
        platform, events, chunks, eagle, hisparse = rest
        circumstances = Circumstances(
            platform=str(platform),
            kv_events=events is True,
            chunks=chunks is True,
            allows_chunks=known.allows_chunks,
            eagle=eagle is True,
            hisparse=hisparse is True,
        )
        # What a release settles is no unknown of its own.
        support = _SUPPORTS[_support(connector)] if len(connectors) > 1 else ""
        names = [(_SUPPORT, support), (_MODEL, str(model))]
        names += [(name, str(value)) for name, value in zip(unknown, rest, strict=True)]
        yield tuple(names), World(release.rules.hma, connector, model, circumstances)


def _connectors(known: Known, release: VllmRelease) -> Sequence[Connected | None]:
    """What vLLM may end up with as connector."""
    asked, late = known.connector, False
    if known.offloading is not None and release.rules.offloading is not None:
        options = release.rules.offloading
        backend = options.backends.get(known.offloading or options.default or "")
        if backend is not None:
            late = options.late and known.connector is None
            variable = backend.variable is not None and known.environment.get(backend.variable)
            name = backend.instead if variable and backend.instead else backend.connector
            asked = Asked(name)
    if asked is None:
        return (None,)
    support = connector_support(
        release.version,
        known.lmcache,
        asked.name,
        environment=known.environment,
        module_path=asked.module_path,
        children=asked.children,
    )
    found: dict[Hma, tuple[bool | None, ...]] = {
        Hma.YES: (True,),
        Hma.NO: (False,),
        Hma.UNAVAILABLE: (None,),
    }
    return [
        Connected(asked.name, supports, late) for supports in found.get(support.hma, (True, False))
    ]


def _as_of(verdict: Verdict, version: str | None, releases: Sequence[VllmRelease]) -> Verdict:
    """The verdict, saying whose rules it is by where that version was not read itself."""
    names = [release.version for release in releases]
    if version is None or (len(names) == 1 and same_release(version, names[0])):
        return verdict
    return replace(verdict, reason=f"{verdict.reason} (by the rules of vLLM {_values(names)})")


def _outcome(verdict: Verdict) -> _Outcome:
    default = None if verdict.engine_default is None else str(verdict.engine_default)
    return verdict.decision, default, verdict.flag


def _hangs_on(outcomes: Mapping[tuple[tuple[str, str], ...], _Outcome]) -> str:
    """What would have to be known, and what it would come to."""
    names = [name for name, _value in next(iter(outcomes))]
    matter = [name for n, name in enumerate(names) if _matters(outcomes, n)]
    if len(matter) == 1:
        at = names.index(matter[0])
        said: dict[Decision, list[str]] = {}
        for key, (decision, _default, _flag) in outcomes.items():
            values = said.setdefault(decision, [])
            if key[at][1] not in values:
                values.append(key[at][1])
        if len(said) > 1:
            return f"it hangs on {matter[0]}: " + "; ".join(
                f"{decision} with {_values(values)}" for decision, values in said.items()
            )
    return f"it hangs on {' and '.join(matter)}"


def _matters(outcomes: Mapping[tuple[tuple[str, str], ...], _Outcome], at: int) -> bool:
    others: dict[tuple[tuple[str, str], ...], set[_Outcome]] = {}
    for key, outcome in outcomes.items():
        others.setdefault(key[:at] + key[at + 1 :], set()).add(outcome)
    return any(len(found) > 1 for found in others.values())


def _values(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
