"""Where LMCache's settings were written, in the order in which LMCache reads the places.

That order is the file, the variables, and the `lmcache.*` keys of the connectors: each replaces
what was before it, unless LMCache cannot read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.deployment.setting import Json, Setting
from hmactl.engine.answer import LMCacheSettings
from hmactl.facts.facts import Facts, once
from hmactl.facts.lmcache import IN_PROCESS

_PREFIX = "LMCACHE_"
_KEY = "lmcache."


@dataclass(frozen=True, slots=True)
class Written:
    """One place where a setting was written.

    ``key`` is LMCache's name for it today, ``setting`` has the name by which it was written:
    `chunk_size` in the file and under `lmcache:`, `LMCACHE_CHUNK_SIZE`, `lmcache.chunk_size`.
    ``readable`` is False where LMCache's converter refuses the value.
    """

    key: str
    setting: Setting
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting as LMCache has it in the end.

    ``written`` is the place that counts, None where it was not written at all: another setting
    changed it. ``overrode`` are the places before it, the nearest first.
    """

    key: str
    value: Json
    default: Json
    written: Written | None
    overrode: tuple[Written, ...] = ()


@once
def places(facts: Facts) -> tuple[Written, ...]:
    """Every place, in LMCache's order. Names that nothing reads are left out."""
    settings = facts.answer.lmcache
    return () if settings is None else tuple(_places(facts, settings))


def places_of(facts: Facts, key: str) -> tuple[Written, ...]:
    """The places of one key, in LMCache's order."""
    return tuple(place for place in places(facts) if place.key == key)


def effective(facts: Facts) -> tuple[Effective, ...]:
    """Every value that is not LMCache's default or that was written somewhere, by its key."""
    settings = facts.answer.lmcache
    if settings is None:
        return ()
    by_key: dict[str, list[Written]] = {}
    for place in places(facts):
        by_key.setdefault(place.key, []).append(place)
    found = []
    for key, value in sorted(settings.values.items()):
        default = settings.defaults.get(key)
        written = by_key.get(key, [])
        # An instance id is made up where there is none.
        if not written and (value == default or key == "lmcache_instance_id"):
            continue
        counts = next(
            (p for p in reversed(written) if p.readable), written[-1] if written else None
        )
        before = written[: written.index(counts)] if counts is not None else []
        found.append(Effective(key, value, default, counts, tuple(reversed(before))))
    return tuple(found)


def _places(facts: Facts, settings: LMCacheSettings) -> Iterator[Written]:
    known = settings.defaults or settings.values
    today = {**{key: key for key in known}, **settings.old_names}
    if facts.lmcache_file is not None:
        for setting in facts.lmcache_file.settings:
            if setting.name in today:
                yield Written(today[setting.name], setting)
    for setting in variables(facts):
        bare = setting.name.removeprefix(_PREFIX).lower()
        if bare in today:
            variable = _PREFIX + bare.upper()
            yield Written(today[bare], setting, variable not in settings.unreadable)
    connector = facts.connector
    for one in () if connector is None else connector.walk():
        if one.name not in IN_PROCESS:
            continue
        for name, value in one.extra_config.items():
            key = name.removeprefix(_KEY)
            if key != name and key in known:
                setting = Setting(name, value, one.origin)
                yield Written(key, setting, name not in settings.unreadable)


def variables(facts: Facts) -> Iterator[Setting]:
    """LMCache's variables as the server will have them: the last of each name counts.

    A key under `lmcache:` becomes a variable; one that is null there does not.
    """
    deployment = facts.deployment
    own: dict[str, Setting] = {}
    for setting in facts.inherited:
        own[setting.name] = setting
    for setting in deployment.lmcache:
        if setting.value is not None:
            own[_PREFIX + setting.name.upper()] = setting
    for setting in deployment.env:
        if setting.name.startswith(_PREFIX):
            own[setting.name] = setting
    yield from own.values()
