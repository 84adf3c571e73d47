"""LMCache's effective settings without an installed LMCache, from the catalogue.

What the version, or a setting that cannot be read, leaves open is not in the answer: a value that
is the same in every release that it may be is known, any other is not.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

from hmactl.catalogue.flags import lmcache_server_flags
from hmactl.catalogue.lmcache_config import LMCacheConfig, lmcache_configs, names_in_vllm
from hmactl.deployment.deployment import Connector
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.engine.answer import LMCacheSettings
from hmactl.engine.dryboot.lmcache_source import (
    similar,
    unread_keys,
    unread_mp_keys,
    unread_variables,
)
from hmactl.facts.lmcache import IN_PROCESS, SERVED
from hmactl.facts.lmcache_hashes import hashes
from hmactl.facts.lmcache_loading import (
    PREFIX,
    Loaded,
    apply,
    defaults,
    load,
    unreadable_variables,
    written_keys,
)

_KEY = "lmcache."
_MP = "lmcache.mp."
_FILE = "LMCACHE_CONFIG_FILE"
_OTHER_NUMBER = re.compile(
    r"[-+]?(\.(inf|nan)|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)", re.IGNORECASE
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Written:
    """What a deployment says about LMCache.

    ``environment`` is the server's, ``names`` are LMCache's keys and variables as the operator has
    them. ``file`` is what LMCACHE_CONFIG_FILE names. ``server``: it has an LMCache server.
    ``unknown`` are keys whose value cannot be known; ``others_unknown``: so are all that are not
    written, and ``file_unknown``: there may be a file.
    """

    environment: Mapping[str, str]
    names: tuple[str, ...] = ()
    file: LMCacheFile | None = None
    connector: Connector | None = None
    server: bool = False
    unknown: frozenset[str] = frozenset()
    others_unknown: bool = False
    file_unknown: bool = False


def lmcache_settings(
    written: Written, version: str | None, vllm: str | None = None
) -> LMCacheSettings | None:
    """What that LMCache beside that vLLM makes of them; None where nothing is known of it.

    Where a version is None it may be any that the catalogue has. Remote stores are left open: they
    hang on code that only an installed LMCache has.
    """
    releases = lmcache_configs(version)
    if not releases:
        return None
    answers = [_settings(written, release, vllm) for release in releases]
    newest = answers[-1]
    refusals = [answer.refusal for answer in answers]
    return LMCacheSettings(
        values=_same(answer.values for answer in answers),
        defaults=_same(answer.defaults for answer in answers),
        old_names=_same(answer.old_names for answer in answers),
        unknown=_in_all(newest.unknown, [answer.unknown for answer in answers]),
        unknown_in_file=_in_all(
            newest.unknown_in_file, [answer.unknown_in_file for answer in answers]
        ),
        unreadable=tuple(
            name for name in newest.unreadable if all(name in a.unreadable for a in answers)
        ),
        refusal=None if None in refusals else newest.refusal,
        hashes_differ=all(answer.hashes_differ for answer in answers),
        hash_loads=newest.hash_loads
        if all(answer.hash_loads is newest.hash_loads for answer in answers)
        else None,
        server_options=_server_options(written, version),
    )


def _settings(written: Written, release: LMCacheConfig, vllm: str | None) -> LMCacheSettings:
    known, source = list(release.keys), release.names | names_in_vllm(vllm)
    loaded = _load(written, release)
    ended = loaded.refusal is not None and not loaded.values
    unreadable = unreadable_variables(release, written.environment)
    unknown = _unread_names(written.names, release, source)
    for one in () if written.connector is None else written.connector.walk():
        keys = {n.removeprefix(_KEY): v for n, v in one.extra_config.items() if n.startswith(_KEY)}
        if one.name in IN_PROCESS:
            for key, value in keys.items():
                name = _KEY + key
                if key not in release.keys:
                    if key.startswith("mp.") or name not in source:
                        unknown[name] = [_KEY + near for near in similar(key, known)]
                elif not ended and not apply(release, loaded, key, value):
                    unreadable.append(name)
        elif one.name == SERVED:
            unknown |= unread_mp_keys(
                one.extra_config, {name for name in source if name.startswith(_MP)}
            )
            unknown |= {
                _KEY + key: [] for key in keys if key in release.keys and _KEY + key not in source
            }
    hashed = hashes(release, vllm, loaded.values, written.environment)
    in_file = [] if written.file is None else [s.name for s in written.file.settings]
    return LMCacheSettings(
        values=_plain(loaded.values),
        defaults=_plain(defaults(release)),
        old_names={old: release.aliases[old] for old in release.taken},
        unknown={name: tuple(near) for name, near in unknown.items()},
        unknown_in_file={
            name: tuple(near)
            for name, near in unread_keys(
                in_file, known, dict(release.aliases), set(release.taken)
            ).items()
        },
        unreadable=tuple(unreadable),
        refusal=loaded.refusal,
        hashes_differ=hashed.differ is True,
        hash_loads=hashed.loads,
    )


def _load(written: Written, release: LMCacheConfig) -> Loaded:
    environment = written.environment
    file, unknown = None, set(written.unknown)
    file_unknown = written.file_unknown
    if _FILE in environment:
        file = None if written.file is None else _content(written.file)
        file_unknown = file_unknown or file is None
    for key, value in (file or {}).items():
        if _is_other_number(value):
            unknown.add(release.aliases.get(key, key))
    if file_unknown:
        # What a file says is not known, but variables come after it, where they are read at all.
        known = written_keys(release, environment) if release.loading.over_file else set()
        loaded = load(release, environment, None, unknown | (release.keys.keys() - known))
        loaded.refusal = None
        return loaded
    if written.others_unknown:
        unknown |= release.keys.keys() - written_keys(release, environment)
    return load(release, environment, file, unknown)


def _content(file: LMCacheFile) -> dict[str, Any] | None:
    """What the file holds; None where it was not read, or holds something else than settings."""
    if file.text is None:
        return None
    lines = (line.partition("#")[0].strip() for line in file.text.splitlines())
    if not file.settings and any(line not in {"", "---", "{}"} for line in lines):
        return None
    return {setting.name: setting.value for setting in file.settings}


def _is_other_number(value: Any) -> bool:
    """Whether it is a text here that LMCache may have read as a number (`1:30`, `.inf`)."""
    return isinstance(value, str) and _OTHER_NUMBER.fullmatch(value) is not None


def _unread_names(
    names: Sequence[str], release: LMCacheConfig, source: AbstractSet[str]
) -> dict[str, list[str]]:
    known, renamed = list(release.keys), dict(release.aliases)
    keys = [name for name in names if name == name.lower()]
    variables = [name for name in names if name != name.lower()]
    unknown = unread_keys(keys, known, renamed, set(release.taken))
    in_source = {name for name in source if name.startswith(PREFIX)}
    unknown |= unread_variables(variables, [*known, *release.taken], in_source)
    for name in {PREFIX + old.upper() for old in renamed} & unknown.keys():
        unknown[name] = [PREFIX + renamed[name.removeprefix(PREFIX).lower()].upper()]
    return unknown


def _plain(value: Any) -> Any:
    """With infinity as the word that it is in JSON."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _server_options(written: Written, version: str | None) -> tuple[str, ...]:
    connector = written.connector
    served = connector is not None and any(one.name == SERVED for one in connector.walk())
    if not served and not written.server:
        return ()
    flags = lmcache_server_flags(version)
    names = {flag.name for s in flags.spellings() if (flag := flags.find(s)) is not None}
    return tuple(sorted(names))


def _same(answers: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    """What all of them say."""
    first, *others = answers
    return {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _in_all(newest: Mapping[str, _T], answers: Sequence[Mapping[str, _T]]) -> dict[str, _T]:
    return {n: found for n, found in newest.items() if all(n in answer for answer in answers)}
