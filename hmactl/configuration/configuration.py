"""The settings of a lint, each with the place that it comes from."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from hmactl.deployment.setting import COMMAND_LINE, DEFAULT, Origin
from hmactl.finding import Severity

_NO_ORIGINS: Mapping[str, Origin] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PathIgnores:
    """Rules that do not matter in the files that a glob pattern matches."""

    pattern: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """``select`` and ``ignore`` are beginnings of rule ids. ``include`` and ``exclude`` are glob
    patterns. ``vllm`` and ``lmcache`` are versions for deployments that say none. ``fail_on`` is
    the severity from which on a finding makes the lint fail. ``baseline`` is a path.

    ``directory`` is that of the file, which its patterns and paths count from; None without one.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_path_ignores: tuple[PathIgnores, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    vllm: str | None = None
    lmcache: str | None = None
    fail_on: Severity = Severity.ERROR
    baseline: Path | None = None
    directory: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=lambda: _NO_ORIGINS)

    def origin(self, key: str) -> Origin:
        """Where the setting with that key comes from."""
        return self.origins.get(key, DEFAULT)

    def is_chosen(self, rule: str, path: str) -> bool:
        """Whether a finding of that rule in that file is wanted."""
        if rule.startswith(self.ignore):
            return False
        if self.select and not rule.startswith(self.select):
            return False
        return not any(
            rule.startswith(ignores.rules) and self._matches(path, ignores.pattern)
            for ignores in self.per_path_ignores
        )

    def _matches(self, path: str, pattern: str) -> bool:
        base = self.directory or Path.cwd()
        shown = PurePath(os.path.relpath(path, base)).as_posix()
        if pattern.endswith("/"):
            pattern += "*"
        return any(fnmatchcase(text, pattern) for text in (shown, f"./{shown}", Path(shown).name))


KEYS: Sequence[str] = tuple(
    name.name.replace("_", "-")
    for name in fields(Configuration)
    if name.name not in {"directory", "origins"}
)


def overridden(configuration: Configuration, **given: Any) -> Configuration:
    """The configuration with what a command line says instead; None and () say nothing."""
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    keys = {name.replace("_", "-"): COMMAND_LINE for name in said}
    return replace(configuration, **said, origins={**configuration.origins, **keys})
