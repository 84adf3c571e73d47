"""Which connector supports HMA in which release, without an engine.

The facts are read from the source of released wheels (`python -m tools.catalogue connectors`). A
release that was not read is answered as its neighbours, where they agree, and as unknown otherwise.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Literal

from packaging.version import InvalidVersion

from hmactl.catalogue.data_file import load
from hmactl.catalogue.hma_decision import (
    HmaRules,
    Offloading,
    WithConnector,
    hma_rules,
    offloading,
)
from hmactl.catalogue.version import parsed

NOT_INSTALLED = ""
"""For ``lmcache``: there is none, while None means that it is not known which."""

_MULTI = "MultiConnector"
_RESOLVED = "resolved"
_SIMILAR = 3
# Answers about versions, which are few in one run.
_KEPT = 1024


class Hma(StrEnum):
    """Whether a connector supports HMA."""

    YES = "yes"
    NO = "no"
    DEPENDS = "depends"
    UNKNOWN = "unknown"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """A class as its source says; ``supports_hma`` is None where that cannot be told, and where a
    ``resolution`` decides. ``how`` is the line of classes up to SupportsHMA, or the bases.
    ``imports`` is what of the other package, as ``module:name``, it cannot be imported without.
    ``old_constructor``: it takes no ``kv_cache_config``. ``of_children``: it descends from vLLM's
    MultiConnector, and what it has of that is not in ``supports_hma`` where it is LMCache's."""

    module: str
    name: str
    supports_hma: bool | None
    how: str
    imports: tuple[str, ...] = ()
    resolution: "Resolution | None" = None
    old_constructor: bool = False
    of_children: bool = False


@dataclass(frozen=True, slots=True)
class Resolution:
    """What an import decides: ``otherwise`` if the environment variable is not empty or LMCache's
    class ``module:name`` cannot be imported, else that class."""

    variable: str | None
    module: str
    name: str
    otherwise: ConnectorClass

    @property
    def key(self) -> str:
        """How LMCache's releases name the class."""
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, slots=True)
class EngineRules:
    """``no_children``: what a MultiConnector without children comes to; ``children_count`` is
    False where it does not support HMA whatever they are. ``old_constructors``: a class of a
    kv_connector_module_path need not take ``kv_cache_config``. ``offloading`` is None where
    there are no such options."""

    hma: HmaRules
    module_path_wins: bool
    children_count: bool
    no_children: bool
    old_constructors: bool
    offloading: Offloading | None


@dataclass(frozen=True, slots=True)
class VllmRelease:
    """A vLLM's registry of connectors by name; ``distribution`` is that of the wheel read.

    ``names`` says whether it has what an LMCache imports from it.
    """

    version: str
    distribution: str
    rules: EngineRules
    connectors: Mapping[str, ConnectorClass]
    names: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class LmcacheRelease:
    """The connector classes of an LMCache, by ``module:name``.

    ``names`` says whether it has what a vLLM imports from it.
    """

    version: str
    distribution: str
    classes: Mapping[str, ConnectorClass]
    names: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Child:
    """A MultiConnector's child that is more than a name."""

    name: str
    module_path: str | None = None
    children: "tuple[Child, ...] | None" = None


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a connector supports HMA, how that is known, and what it hangs on.

    ``vllm`` and ``lmcache`` are the releases whose source says so; None where none was read or
    needed. They differ from those asked about only where a caveat says it. ``module`` and
    ``class_name`` are those of the class that loads.
    """

    name: str
    hma: Hma
    how: str
    caveats: tuple[str, ...] = ()
    vllm: str | None = None
    lmcache: str | None = None
    module: str | None = None
    class_name: str | None = None
    similar: tuple[str, ...] = ()

    @property
    def supports_hma(self) -> bool | None:
        """True or False where it is known, else None."""
        return {Hma.YES: True, Hma.NO: False}.get(self.hma)


def connector_support(
    vllm: str,
    lmcache: str | None,
    name: str,
    *,
    environment: Mapping[str, str] | None = None,
    module_path: str | None = None,
    children: Sequence[str | Child] | None = None,
) -> Support:
    """Whether the connector ``name`` supports HMA on that vLLM with that LMCache.

    ``lmcache`` is NOT_INSTALLED or None where it is not known. ``module_path`` is the
    kv_connector_module_path, ``children`` a MultiConnector's children, where known; a name alone
    says nothing of children of its own.
    """
    engines, engine_caveat = _around(vllm, "vLLM")
    if not engines:
        return Support(name, Hma.UNKNOWN, engine_caveat or "")
    caches: list[str | None] = [lmcache]
    cache_caveat = None
    if lmcache:
        known, cache_caveat = _around(lmcache, "LMCache")
        caches = [*known] or [None]
    questions = [
        _Question(_vllm(e), c, _lmcache(c) if c else None, environment or {}, module_path, children)
        for e in engines
        for c in caches
    ]
    asked = [question.answer(name) for question in questions]
    first = asked[0]
    caveats = [engine_caveat] if engine_caveat else []
    if cache_caveat and any(question.hangs_on_lmcache(name) for question in questions):
        caveats.append(cache_caveat)
    if len({a.hma for a in asked}) > 1:
        said = "; ".join(dict.fromkeys(f"{_releases(a)}: {a.hma}" for a in asked))
        return Support(name, Hma.UNKNOWN, f"the releases around it differ: {said}", (*caveats,))
    return replace(first, caveats=(*caveats, *first.caveats))


def support_in(
    engine: VllmRelease,
    lmcache: LmcacheRelease | str | None,
    name: str,
    *,
    environment: Mapping[str, str] | None = None,
    module_path: str | None = None,
) -> Support:
    """As `connector_support`, of releases that were read from given source.

    ``lmcache`` is such a release, a version, NOT_INSTALLED, or None where it is not known.
    """
    if isinstance(lmcache, str):
        lmcache = lmcache_release(lmcache) if lmcache else NOT_INSTALLED
    version, release = (
        (lmcache.version, lmcache) if isinstance(lmcache, LmcacheRelease) else (lmcache, None)
    )
    question = _Question(engine, version, release, environment or {}, module_path, None)
    return question.answer(name)


def vllm_release_from(
    facts: Mapping[str, Any], version: str, names: Mapping[str, bool]
) -> VllmRelease:
    """A vLLM whose source was read (`source.releases`)."""
    connectors = {name: _class(found) for name, found in facts["connectors"].items()}
    return VllmRelease(version, "", _rules(facts["rules"]), connectors, names)


def lmcache_release_from(
    facts: Mapping[str, Any], version: str, names: Mapping[str, bool]
) -> LmcacheRelease:
    """An LMCache whose source was read (`source.releases`)."""
    classes = {key: _class(found) for key, found in facts["classes"].items()}
    return LmcacheRelease(version, "", classes, names)


def vllm_release(version: str) -> VllmRelease | None:
    """The release that answers for a version: itself, or the nearest older one that was read."""
    around, _ = _around(version, "vLLM")
    return _vllm(around[0]) if around else None


def releases_around(version: str) -> tuple[VllmRelease, ...]:
    """The releases that answer for a version: itself, or its neighbours; none if it is older than
    all that were read, or no version."""
    around, _ = _around(version, "vLLM")
    return tuple(map(_vllm, around))


def same_release(version: str, other: str) -> bool:
    """Whether two versions are the same release, whatever their builds (`0.32.0+cu129`)."""
    return parsed(version).public == parsed(other).public


def lmcache_release(version: str) -> LmcacheRelease | None:
    """The release that answers for a version: itself, or the nearest older one that was read."""
    around, _ = _around(version, "LMCache")
    return _lmcache(around[0]) if around else None


@cache
def vllm_releases() -> tuple[VllmRelease, ...]:
    """Every vLLM that was read, the oldest first."""
    part = _data()["vllm"]
    rules = dict(by_version(part["rules"], [*part["versions"]]))
    named = _by_name(part, "connectors")
    names = _names(part)
    return tuple(
        VllmRelease(version, distribution, _rules(rules[version]), named[version], names[version])
        for version, distribution in part["versions"].items()
    )


@cache
def lmcache_releases() -> tuple[LmcacheRelease, ...]:
    """Every LMCache that was read, the oldest first."""
    part = _data()["lmcache"]
    named = _by_name(part, "classes")
    names = _names(part)
    return tuple(
        LmcacheRelease(version, distribution, named[version], names[version])
        for version, distribution in part["versions"].items()
    )


def known_connectors() -> tuple[str, ...]:
    """Every name that any vLLM registers."""
    return tuple(sorted({name for release in vllm_releases() for name in release.connectors}))


def by_version(
    runs: Iterable[dict[str, Any]], versions: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The facts of each version, from runs of versions that say the same."""
    for run in runs:
        facts = {key: value for key, value in run.items() if key not in {"from", "to"}}
        for version in versions[versions.index(run["from"]) : versions.index(run["to"]) + 1]:
            yield version, facts


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked about, with releases that were read."""

    engine: VllmRelease
    lmcache: str | None
    release: LmcacheRelease | None
    environment: Mapping[str, str]
    module_path: str | None
    children: Sequence[str | Child] | None

    def hangs_on_lmcache(self, name: str) -> bool:
        """Whether it matters which LMCache there is."""
        last = lmcache_releases()[-1]
        newest = replace(self, lmcache=last.version, release=last)
        return replace(self, lmcache=None, release=None).answer(name) != newest.answer(name)

    @property
    def cache(self) -> LmcacheRelease:
        """The LMCache, where one is asked about."""
        assert self.release is not None  # noqa: S101 - for the type checker
        return self.release

    def answer(self, name: str) -> Support:
        registered = self.engine.connectors.get(name)
        if self.module_path and (registered is None or self.engine.rules.module_path_wins):
            support = self._outside(name, self.module_path)
        elif registered is None:
            return self._not_registered(name)
        else:
            support = self._registered(name, registered)
            if self.module_path:
                ignored = f"vLLM {self.engine.version} ignores kv_connector_module_path here"
                support = replace(support, caveats=(*support.caveats, ignored))
        switched_off = self._switched_off()
        if switched_off and support.hma in {Hma.YES, Hma.DEPENDS}:
            support = replace(support, caveats=(*support.caveats, switched_off))
        return support

    def _registered(self, name: str, found: ConnectorClass) -> Support:
        if found.imports and self.lmcache == NOT_INSTALLED:
            how = f"{found.module} imports LMCache, which is not installed"
            return self._support(name, Hma.UNAVAILABLE, how)
        if found.imports and self.lmcache:
            lacks = _lacks(found, self.cache.names)
            if lacks:
                how = f"{found.module} imports {lacks}, which LMCache {self.lmcache} does not have"
                support = self._support(name, Hma.UNAVAILABLE, how)
                return replace(support, lmcache=self.lmcache)
        if found.resolution is not None:
            return self._resolved(name, found.resolution)
        return self._of_class(name, found)

    def _of_class(self, name: str, found: ConnectorClass) -> Support:
        if found.of_children and found.supports_hma is False:
            found = self._as_multi(found)
        passes_on = found.of_children or found.name == _MULTI
        if passes_on and found.supports_hma and self.engine.rules.children_count:
            return self._multi(name, found)
        return self._support(name, _hma(found), found.how, found)

    def _resolved(self, name: str, resolution: Resolution) -> Support:
        own = resolution.otherwise
        if resolution.variable and self.environment.get(resolution.variable):
            how = f"{resolution.variable} is set, so vLLM's own class: {own.how}"
            return self._support(name, _hma(own), how, own)
        if self.lmcache is None:
            how = "LMCache's own class if it can be imported, else vLLM's"
            support = self._support(name, Hma.DEPENDS, how)
            return replace(support, caveats=_per_lmcache(resolution))
        found = self.cache.classes.get(resolution.key)
        if found is None:
            how = f"LMCache {self.lmcache} has no {resolution.module}, so vLLM's own class: "
            unseen = f"whether vLLM's own works with LMCache {self.lmcache} was not looked at"
            support = self._support(name, _hma(own), how + own.how, own)
            return replace(support, lmcache=self.lmcache, caveats=(unseen,))
        lacks = _lacks(found, self.engine.names)
        if lacks:
            how = f"{self._imports_what_is_not_there(lacks)}, so vLLM's own class: {own.how}"
            return replace(self._support(name, _hma(own), how, own), lmcache=self.lmcache)
        caveats = self._unlooked(found)
        if found.supports_hma:
            forced = f"or {resolution.variable} is set, " if resolution.variable else ""
            caveats = (
                *caveats,
                *_since(resolution),
                f"if LMCache's class cannot be imported {forced}vLLM's own loads, which "
                f"{'supports' if own.supports_hma else 'does not support'} HMA",
            )
        support = self._support(name, _hma(found), f"LMCache's own class: {found.how}", found)
        return replace(support, lmcache=self.lmcache, caveats=caveats)

    def _as_multi(self, found: ConnectorClass) -> ConnectorClass:
        """A descendant of this vLLM's MultiConnector that adds nothing about HMA itself."""
        multi = self.engine.connectors.get(_MULTI)
        if multi is None:
            how = f"vLLM {self.engine.version} registers no {_MULTI}"
            return replace(found, supports_hma=None, how=how)
        return replace(found, supports_hma=multi.supports_hma, how=f"{found.name} < {multi.how}")

    def _multi(self, name: str, found: ConnectorClass) -> Support:
        if self.children is None:
            how = f"all children must: {found.how}"
            return self._support(name, Hma.DEPENDS, how, found)
        if not self.children:
            hma = Hma.YES if self.engine.rules.no_children else Hma.NO
            return self._support(name, hma, "it has no children", found)
        children = [Child(c) if isinstance(c, str) else c for c in self.children]
        answers = [
            replace(self, children=c.children, module_path=c.module_path).answer(c.name)
            for c in children
        ]
        for hma in (Hma.UNAVAILABLE, Hma.NO, Hma.UNKNOWN, Hma.DEPENDS):
            deciding = [a for a in answers if a.hma is hma]
            if deciding:
                how = "; ".join(f"child {a.name}: {hma}, {a.how}" for a in deciding)
                break
        else:
            hma, deciding, how = Hma.YES, answers, "every child supports it"
        support = self._support(name, hma, how, found)
        caveats = dict.fromkeys(c for a in deciding for c in a.caveats if c != self._switched_off())
        used = next((a.lmcache for a in answers if a.lmcache), None)
        return replace(support, caveats=tuple(caveats), lmcache=used)

    def _outside(self, name: str, module: str) -> Support:
        """A class that kv_connector_module_path names."""
        for found in self.engine.connectors.values():
            if (found.module, found.name) == (module, name):
                return self._registered(name, found)
        if module.partition(".")[0] != "lmcache":
            return self._support(name, Hma.UNKNOWN, f"{module} is not in the catalogue")
        if self.lmcache == NOT_INSTALLED:
            return self._support(name, Hma.UNAVAILABLE, "LMCache is not installed")
        if self.lmcache is None:
            support = self._support(name, Hma.DEPENDS, f"whatever LMCache's {module} has")
            return replace(support, caveats=_history(f"{module}:{name}"))
        inside = self.cache.classes.get(f"{module}:{name}")
        if inside is None:
            how = f"LMCache {self.lmcache} has no connector {name} in {module}"
            return replace(
                self._support(name, Hma.UNAVAILABLE, how),
                lmcache=self.lmcache,
                caveats=_history(f"{module}:{name}"),
            )
        lacks = _lacks(inside, self.engine.names)
        if lacks:
            support = self._support(name, Hma.UNAVAILABLE, self._imports_what_is_not_there(lacks))
        elif inside.old_constructor and not self.engine.rules.old_constructors:
            how = "takes no kv_cache_config"
            support = self._support(name, Hma.UNAVAILABLE, how)
            refuses = (
                f"vLLM {self.engine.version} refuses a class of a kv_connector_module_path whose "
                "constructor takes no kv_cache_config"
            )
            support = replace(support, caveats=(refuses,))
        else:
            support = replace(self._of_class(name, inside), caveats=self._unlooked(inside))
        return replace(support, lmcache=self.lmcache)

    def _imports_what_is_not_there(self, lacks: str) -> str:
        return (
            f"LMCache {self.lmcache}'s class imports {lacks}, which vLLM {self.engine.version} "
            "does not have"
        )

    def _unlooked(self, found: ConnectorClass) -> tuple[str, ...]:
        """What to say where a class imports something that was not looked for in this vLLM."""
        if set(found.imports) <= set(self.engine.names):
            return ()
        return (f"whether vLLM {self.engine.version} can import it was not looked at",)

    def _not_registered(self, name: str) -> Support:
        here = f"vLLM {self.engine.version} does not register it"
        having = [r.version for r in vllm_releases() if name in r.connectors]
        if having:
            how = f"{here}; {_span(having)} {'do' if len(having) > 1 else 'does'}"
            return self._support(name, Hma.UNAVAILABLE, how)
        keys = sorted({k for r in lmcache_releases() for k in r.classes if k.endswith(f":{name}")})
        if keys:
            modules = " or ".join(key.partition(":")[0] for key in keys)
            how = f"{here}; LMCache has it, for kv_connector_module_path {modules}"
            return self._support(name, Hma.UNAVAILABLE, how)
        similar = _similar(name)
        how = "no vLLM that was read registers it"
        if similar:
            how += f"; similar: {', '.join(similar)}"
        return replace(self._support(name, Hma.UNKNOWN, how), similar=similar)

    def _switched_off(self) -> str | None:
        version = self.engine.version
        match self.engine.rules.hma.with_connector:
            case WithConnector.ALWAYS_OFF:
                return f"vLLM {version} switches HMA off with any connector"
            case WithConnector.OFF_UNLESS_ENABLED:
                return (
                    f"vLLM {version} switches HMA off with any connector unless "
                    "--no-disable-hybrid-kv-cache-manager is given"
                )
        return None

    def _support(
        self, name: str, hma: Hma, how: str, found: ConnectorClass | None = None
    ) -> Support:
        return Support(
            name,
            hma,
            how,
            vllm=self.engine.version,
            module=found.module if found else None,
            class_name=found.name if found else None,
        )


def _hma(found: ConnectorClass) -> Hma:
    if found.supports_hma is None:
        return Hma.UNKNOWN
    return Hma.YES if found.supports_hma else Hma.NO


def _lacks(found: ConnectorClass, names: Mapping[str, bool]) -> str:
    """The first of what a class imports that is not there, or nothing."""
    missing = [name for name in found.imports if names.get(name) is False]
    return missing[0].replace(":", ".").rstrip(".") if missing else ""


@lru_cache(maxsize=_KEPT)
def _around(version: str, what: Literal["vLLM", "LMCache"]) -> tuple[tuple[str, ...], str | None]:
    """The releases that answer for a version, the nearest older first, and what to say of that."""
    known = [r.version for r in (vllm_releases() if what == "vLLM" else lmcache_releases())]
    try:
        wanted = parsed(version)
    except InvalidVersion:
        return (), f"`{version}` is no version of {what}"
    # A local part tells a build (`+cu129`), not a release.
    wanted = parsed(wanted.public)
    older = [v for v in known if parsed(v) <= wanted]
    newer = [v for v in known if parsed(v) > wanted]
    if not older:
        return (), f"{what} {version} is older than the catalogue, which begins with {known[0]}"
    if parsed(older[-1]) == wanted:
        return (older[-1],), None
    if not newer:
        return (older[-1],), (
            f"{what} {version} is newer than the catalogue: this is as of {older[-1]}"
        )
    return (older[-1], newer[0]), (
        f"{what} {version} was not read: this is as of {older[-1]} and {newer[0]}"
    )


def _per_lmcache(resolution: Resolution) -> tuple[str, ...]:
    """What a resolution comes to with each LMCache that was read."""
    said: dict[str, list[str]] = {}
    for release in lmcache_releases():
        found = release.classes.get(resolution.key, resolution.otherwise)
        said.setdefault(_hma(found), []).append(release.version)
    variable = resolution.variable
    forced = (f"with {variable} set: {_hma(resolution.otherwise)}",) if variable else ()
    return (*(f"with LMCache {_span(v)}: {hma}" for hma, v in said.items()), *forced)


def _since(resolution: Resolution) -> tuple[str, ...]:
    """From which LMCache on the class supports HMA, if that has not always been so."""
    having = [
        release.version
        for release in lmcache_releases()
        if (found := release.classes.get(resolution.key)) and found.supports_hma
    ]
    if not having or having[0] == lmcache_releases()[0].version:
        return ()
    return (f"needs LMCache {having[0]} or newer",)


def _history(key: str) -> tuple[str, ...]:
    """Which LMCaches have a class, and whether it supports HMA in them."""
    said: dict[str, list[str]] = {}
    for release in lmcache_releases():
        if (found := release.classes.get(key)) is not None:
            said.setdefault(_hma(found), []).append(release.version)
    return tuple(f"with LMCache {_span(versions)}: {hma}" for hma, versions in said.items())


def _span(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _releases(support: Support) -> str:
    """The releases that an answer is from."""
    cache = f" with LMCache {support.lmcache}" if support.lmcache else ""
    return f"vLLM {support.vllm}{cache}"


def _similar(name: str) -> tuple[str, ...]:
    """Registered names like it, whatever the case of letters."""
    folded = {known.lower(): known for known in known_connectors()}
    close = difflib.get_close_matches(name.lower(), list(folded), n=_SIMILAR, cutoff=0.6)
    return tuple(folded[key] for key in close)


def _vllm(version: str) -> VllmRelease:
    return next(r for r in vllm_releases() if r.version == version)


def _lmcache(version: str) -> LmcacheRelease:
    return next(r for r in lmcache_releases() if r.version == version)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = load("connector-versions.json")
    return data


def _by_name(part: dict[str, Any], key: str) -> dict[str, dict[str, ConnectorClass]]:
    versions = [*part["versions"]]
    named: dict[str, dict[str, ConnectorClass]] = {version: {} for version in versions}
    for name, runs in part[key].items():
        for version, facts in by_version(runs, versions):
            named[version][name] = _class(facts)
    return named


def _names(part: dict[str, Any]) -> dict[str, dict[str, bool]]:
    versions = [*part["versions"]]
    names: dict[str, dict[str, bool]] = {version: {} for version in versions}
    for name, runs in part["names"].items():
        for version, facts in by_version(runs, versions):
            names[version][name] = facts["there"]
    return names


def _class(facts: dict[str, Any]) -> ConnectorClass:
    resolution = None
    if facts["supports_hma"] == _RESOLVED:
        tries = facts["tries"]
        resolution = Resolution(
            facts["variable"], tries["module"], tries["class"], _class(facts["else"])
        )
    return ConnectorClass(
        module=facts["module"],
        name=facts["class"],
        supports_hma=None if resolution else facts["supports_hma"],
        how=facts["how"],
        imports=tuple(facts.get("imports", ())),
        resolution=resolution,
        old_constructor=facts.get("old_constructor", False),
        of_children=facts.get("of_children", False),
    )


def _rules(facts: dict[str, Any]) -> EngineRules:
    multi = facts["multi"]
    return EngineRules(
        hma=hma_rules(facts),
        module_path_wins=facts["module_path"] == "module path wins",
        children_count=multi is not None,
        no_children=multi is not None and multi["empty"],
        old_constructors=facts["constructor"] == "accepted",
        offloading=offloading(facts["offloading"]),
    )
