"""What one release of LMCache makes of its file and variables, without that LMCache.

It follows the release's own loader: `hmactl.catalogue.lmcache_config` says what that does.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hmactl.catalogue.expression import UnknownNameError, evaluate
from hmactl.catalogue.lmcache_config import LMCacheConfig, Step, Unreadable
from hmactl.facts.lmcache_converters import convert, unquoted

PREFIX = "LMCACHE_"
_INSTANCE_ID = "lmcache_instance_id"
# LMCache makes up another one every time.
_MADE = "(made up)"
_REMOTE_URL = "remote_url"
_EXTRA = "extra_config"


@dataclass(slots=True)
class Loaded:
    """``values`` lacks what is not known. ``refusal`` is why there are none, or would be none."""

    values: dict[str, Any]
    user_set: set[str] = field(default_factory=set)
    refusal: str | None = None


class RefusedError(Exception):
    """LMCache's loader would end, and why."""


def load(
    release: LMCacheConfig,
    environment: Mapping[str, str],
    file: Mapping[str, Any] | None,
    unknown: Iterable[str] = (),
) -> Loaded:
    """The settings as LMCache has them before a connector's own.

    ``file`` has the keys of its file, None where LMCACHE_CONFIG_FILE names none. ``unknown`` are
    keys that may have any value.
    """
    loaded = Loaded({})
    try:
        if file is None:
            _from_variables(release, environment, loaded)
        else:
            _from_file(release, environment, file, loaded)
    except RefusedError as refused:
        return Loaded({}, refusal=str(refused))
    for key in unknown:
        loaded.values.pop(key, None)
    if file is None and release.loading.variables_checked:
        # A value that could not be read is None by now, and was said so already.
        with contextlib.suppress(TypeError):
            _check(release.checks, loaded)
    elif file is not None and release.loading.file_checked == "at the end":
        _check_file(release.checks, loaded)
        if loaded.refusal is not None:
            loaded.values = {}
    if loaded.values.get(_INSTANCE_ID) == _MADE:
        del loaded.values[_INSTANCE_ID]
    return loaded


def apply(release: LMCacheConfig, loaded: Loaded, key: str, value: Any) -> bool:
    """Put one key of a connector into the settings; False where LMCache does not take its value."""
    loading = release.loading
    if loading.connector_keys == "ignored":
        return True
    try:
        if key == _EXTRA:
            if loading.connector_json and isinstance(value, str):
                value = convert("mapping", value)
        elif loading.connector_keys == "converted":
            converted = convert(release.keys[key].converter, value)
            if converted is None and value is not None:
                return False
            value = converted
    except Exception:  # noqa: BLE001 - whatever it is, LMCache logs it and goes on
        return False
    loaded.values[key] = value
    return True


def unreadable_variables(release: LMCacheConfig, environment: Mapping[str, str]) -> list[str]:
    """Variables whose text LMCache's converters refuse."""
    found = []
    for name in (*release.keys, *sorted(release.taken)):
        variable = PREFIX + name.upper()
        if variable in environment:
            key = release.keys[release.aliases.get(name, name)]
            # Anything else than a ValueError ends the loader.
            with contextlib.suppress(Exception):
                try:
                    convert(key.converter, _text(release, environment[variable]))
                except ValueError:
                    found.append(variable)
    return found


def written_keys(release: LMCacheConfig, environment: Mapping[str, str]) -> set[str]:
    """Keys that a variable sets to what LMCache can read."""
    found = set()
    for key, text in _variables(release, environment).items():
        with contextlib.suppress(Exception):
            convert(release.keys[key].converter, _text(release, text))
            found.add(key)
    return found


def defaults(release: LMCacheConfig) -> dict[str, Any]:
    """What the loader gives where nothing is set."""
    return {name: _default(release, name) for name in release.keys}


def _from_variables(release: LMCacheConfig, environment: Mapping[str, str], loaded: Loaded) -> None:
    loaded.values |= defaults(release)
    for key, text in _variables(release, environment).items():
        try:
            loaded.values[key] = _converted(release, key, _text(release, text))
        except ValueError:
            _without(release, release.loading.unreadable_variable, key, loaded)
        loaded.user_set.add(key)
    _make_instance_id(release, loaded)


def _from_file(
    release: LMCacheConfig,
    environment: Mapping[str, str],
    file: Mapping[str, Any],
    loaded: Loaded,
) -> None:
    loaded.values |= defaults(release)
    for key, value in _resolved(release, file).items():
        try:
            loaded.values[key] = _converted(release, key, value)
        except ValueError as error:
            if release.loading.unreadable_in_file == "ends":
                raise RefusedError(f"`{key}` in its file: {error}") from None
            _without(release, release.loading.unreadable_in_file, key, loaded)
        loaded.user_set.add(key)
    _make_instance_id(release, loaded)
    url = loaded.values.get(_REMOTE_URL)
    if release.loading.file_address_checked and url is not None and not _is_address(url):
        raise RefusedError(f"`{_REMOTE_URL}` in its file is no address: {url}")
    if release.loading.file_checked == "before variables":
        _check_file(release.checks, loaded)
        if loaded.refusal is not None:
            raise RefusedError(loaded.refusal)
    if not release.loading.over_file:
        return
    for key, text in _variables(release, environment).items():
        if release.keys[key].converter is None:
            raise RefusedError(f"`{PREFIX}{key.upper()}` beside a file: LMCache cannot convert it")
        try:
            loaded.values[key] = _converted(release, key, _text(release, text))
        except ValueError:
            continue  # the file's value stays
        loaded.user_set.add(key)


def _without(release: LMCacheConfig, instead: Unreadable, key: str, loaded: Loaded) -> None:
    loaded.values[key] = None if instead == "none" else _default(release, key)


def _make_instance_id(release: LMCacheConfig, loaded: Loaded) -> None:
    if release.loading.makes_instance_id and not loaded.values.get(_INSTANCE_ID):
        loaded.values[_INSTANCE_ID] = _MADE


def _variables(release: LMCacheConfig, environment: Mapping[str, str]) -> dict[str, str]:
    written = {
        name: environment[PREFIX + name.upper()]
        for name in (*release.keys, *release.aliases)
        if PREFIX + name.upper() in environment
    }
    return _resolved(release, written)


def _resolved(release: LMCacheConfig, written: Mapping[str, Any]) -> dict[str, Any]:
    """By today's names; those that LMCache leaves out are not there."""
    found = {}
    for name, value in written.items():
        key = release.aliases[name] if name in release.taken else name
        if key in release.keys and name not in release.deprecated:
            found[key] = value
    return found


def _converted(release: LMCacheConfig, key: str, value: Any) -> Any:
    """Raises ValueError for what LMCache goes on without, RefusedError for what ends it."""
    try:
        return convert(release.keys[key].converter, value)
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - any other ends LMCache's loader
        raise RefusedError(f"`{key}: {value}`: {error}") from None


def _default(release: LMCacheConfig, key: str) -> Any:
    return convert(release.keys[key].converter, release.keys[key].default)


def _text(release: LMCacheConfig, text: str) -> str:
    return unquoted(text) if release.loading.unquotes else text


def _is_address(url: Any) -> bool:
    return re.match(".*://", str(url)) is not None


def _check_file(steps: Iterable[Step], loaded: Loaded) -> None:
    try:
        _check(steps, loaded)
    except TypeError as error:
        loaded.refusal = str(error)


def _check(steps: Iterable[Step], loaded: Loaded) -> None:
    """Takes LMCache's steps as far as they go; what hangs on an unknown value is unknown too."""
    for step in steps:
        names = {**loaded.values, "user_set": loaded.user_set}
        try:
            if not all(evaluate(condition, names) for condition in step.when):
                continue
            if step.refuses:
                loaded.refusal = " and ".join(f"`{condition}`" for condition in step.when)
                return
            if step.key is not None and step.to is not None:
                loaded.values[step.key] = evaluate(step.to, names)
        except UnknownNameError:
            if step.to is not None and step.key is not None:
                loaded.values.pop(step.key, None)
            continue
        except (AttributeError, KeyError) as error:
            loaded.refusal = str(error)
            return
        if step.key is not None and step.item is not None:
            holder = loaded.values[step.key]
            loaded.values[step.key] = {k: v for k, v in holder.items() if k != step.item}
