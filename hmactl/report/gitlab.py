"""The findings of a lint as GitLab's code quality report."""

import json
import os
from collections.abc import Sequence
from pathlib import PurePath

from hmactl.finding import Severity
from hmactl.report.fingerprint import fingerprints
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render_gitlab(findings: Sequence[LintFinding]) -> str:
    """A JSON array with an entry for each finding that counts."""
    counting = [one for one in in_order(findings) if one.counts]
    marks = fingerprints(counting)
    entries = [_entry(one, mark) for one, mark in zip(counting, marks, strict=True)]
    return json.dumps(entries, indent=2) + "\n"


def _entry(one: LintFinding, fingerprint: str) -> dict[str, object]:
    finding = one.finding
    # GitLab wants a path and a line, also of what stands in no file.
    path = finding.origin.source if one.file is None else os.path.normpath(one.file)
    parts = (finding.message, finding.consequence, finding.fix and f"fix: {finding.fix}")
    return {
        # Shown in one line.
        "description": "; ".join(redact(part) for part in parts if part).replace("\n", " "),
        "check_name": finding.id,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": redact(PurePath(path).as_posix()),
            "lines": {"begin": finding.origin.line or 1},
        },
    }
