"""A data file of facts per version of one package, kept as runs of versions that say the same."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from hmactl.catalogue.connector_versions import by_version

from .runs import as_runs

Facts = dict[str, Any]
WHEEL = "wheel"


@dataclass(frozen=True, slots=True)
class Table:
    """``named`` are its parts with facts for each name, ``single`` those with facts alone.

    A release is {"wheel": distribution, part: {name: facts} or facts}.
    """

    path: Path
    about: str
    named: tuple[str, ...]
    single: tuple[str, ...] = ()

    def read(self) -> dict[str, Facts]:
        """The facts of each version in the file; none where there is no file.

        Ends the program where the file lacks a part.
        """
        if not self.path.exists():
            return {}
        data = json.loads(self.path.read_text("utf-8"))
        for part in (*self.named, *self.single):
            if part not in data:
                sys.exit(f"{self.path} has no `{part}`: read every release again, with --fresh")
        versions = [*data["versions"]]
        releases: dict[str, Facts] = {
            version: {WHEEL: data["versions"][version], **{part: {} for part in self.named}}
            for version in versions
        }
        for part in self.single:
            for version, facts in by_version(data[part], versions):
                releases[version][part] = facts
        for part in self.named:
            for name, runs in data[part].items():
                for version, facts in by_version(runs, versions):
                    releases[version][part][name] = facts
        return releases

    def write(self, releases: Mapping[str, Facts]) -> None:
        """The file, a run on a line, the same for the same facts."""
        versions = sorted(releases, key=Version)
        wheels = {version: releases[version][WHEEL] for version in versions}
        parts = [f'"about": {_line(self.about)}', f'"versions": {_line(wheels)}']
        for part in self.single:
            runs = as_runs([(v, releases[v].get(part)) for v in versions])
            parts.append(f'"{part}": {_runs(runs, 1)}')
        for part in self.named:
            names = sorted({name for release in releases.values() for name in release[part]})
            lines = [
                f"    {_line(name)}: "
                + _runs(as_runs([(v, releases[v][part].get(name)) for v in versions]), 2)
                for name in names
            ]
            parts.append(f'"{part}": {{\n' + ",\n".join(lines) + "\n  }")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("{\n  " + ",\n  ".join(parts) + "\n}\n", "utf-8")


def _runs(runs: list[Facts], depth: int) -> str:
    inner = "  " * (depth + 1)
    return "[\n" + ",\n".join(inner + _line(run) for run in runs) + "\n" + "  " * depth + "]"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
