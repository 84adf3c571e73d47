"""The findings that a repository had when it began to be linted, which do not count."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from hmactl.fix.replace_file import replace_file
from hmactl.report.fingerprint import fingerprints
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact

_SCHEMA = "hmactl-baseline/1"
_REASON = "in the baseline"


class BaselineError(Exception):
    """A baseline that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding of a baseline; ``path`` counts from the baseline's directory."""

    fingerprint: str
    id: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline file holds. ``directory`` is its own."""

    entries: tuple[Entry, ...]
    directory: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The findings, those of the baseline suppressed, and the entries that no finding has."""

    findings: tuple[LintFinding, ...]
    gone: tuple[Entry, ...]


def write_baseline(path: Path, findings: Sequence[LintFinding]) -> int:
    """Make a baseline of the findings that count; how many they are.

    Raises OSError where it cannot be written.
    """
    directory = _directory(path)
    counting = [one for one in in_order(findings) if one.counts]
    marks = fingerprints(counting, directory)
    entries = [
        {
            "id": one.finding.id,
            "path": redact(_path(one, directory)),
            "message": redact(one.finding.message),
            "fingerprint": mark,
        }
        for one, mark in zip(counting, marks, strict=True)
    ]
    text = json.dumps({"schema": _SCHEMA, "findings": entries}, indent=2)
    replace_file(path, f"{text}\n".encode())
    return len(entries)


def baseline_schema() -> dict[str, Any]:
    """The JSON Schema of a baseline file."""
    described = {
        "id": {"type": "string", "description": "The rule."},
        "path": {"type": "string", "description": "The file, from this one's directory."},
        "message": {"type": "string", "description": "For a reader; not compared."},
        "fingerprint": {"type": "string", "description": "What the finding is known by."},
    }
    entry = {"type": "object", "required": list(described), "properties": described}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hmactl baseline",
        "description": "Findings that do not count; `hmactl lint --write-baseline` writes it.",
        "type": "object",
        "required": ["schema", "findings"],
        "properties": {
            "schema": {"const": _SCHEMA},
            "findings": {"type": "array", "items": entry},
        },
    }


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file. Raises BaselineError."""
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["schema"] != _SCHEMA:
            raise BaselineError(f"`{path}` is a baseline of another version of hmactl")
        entries = tuple(
            Entry(*(str(one[key]) for key in ("fingerprint", "id", "path", "message")))
            for one in content["findings"]
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BaselineError(f"the baseline `{path}` cannot be read: {reason}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        fix = "write it with --write-baseline"
        raise BaselineError(f"`{path}` is no baseline of hmactl; {fix}") from error
    return Baseline(entries, _directory(path))


def compare(findings: Sequence[LintFinding], baseline: Baseline) -> Compared:
    """Suppress the findings that the baseline has; one that it has once is suppressed once."""
    left = {entry.fingerprint: entry for entry in baseline.entries}
    ordered = in_order(findings)
    counting = [one for one in ordered if one.counts]
    marks = iter(fingerprints(counting, baseline.directory))
    result = []
    for one in ordered:
        known = one.counts and left.pop(next(marks), None) is not None
        result.append(replace(one, suppressed=_REASON, in_source=False) if known else one)
    return Compared(tuple(result), tuple(left.values()))


def _directory(path: Path) -> str:
    return os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - as it is written


def _path(one: LintFinding, directory: str) -> str:
    if one.file is None:
        return one.finding.origin.source
    return PurePath(os.path.relpath(one.file, directory)).as_posix()
