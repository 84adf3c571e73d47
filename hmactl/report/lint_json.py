"""The findings of a lint as JSON."""

import json
from collections.abc import Sequence
from typing import Any

from hmactl.finding import Severity
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact

_SCHEMA = "hmactl-lint/1"


def render_lint_json(findings: Sequence[LintFinding]) -> str:
    """``hmactl-lint/1``: the findings in their order; more keys may be added, these stay."""
    shown = [
        {
            "id": one.finding.id,
            "severity": str(one.finding.severity),
            "message": redact(one.finding.message),
            "consequence": redact(one.finding.consequence),
            "fix": redact(one.finding.fix),
            "path": one.finding.origin.source,
            "line": one.finding.origin.line,
            "column": one.finding.origin.column,
            "suppressed": not one.counts,
            "edit": _edit(one),
        }
        for one in in_order(findings)
    ]
    return json.dumps({"schema": _SCHEMA, "findings": shown}, indent=2) + "\n"


def lint_schema() -> dict[str, Any]:
    """The JSON Schema of these findings."""
    text, number = {"type": "string"}, {"type": "integer", "minimum": 1}
    place = {"anyOf": [number, {"type": "null"}]}
    edit = _object(
        "Characters of the file that become `new`, by 1-based lines and columns of characters; "
        "the one at the end stays. One that is not safe changes what was chosen.",
        dict.fromkeys(("line", "column", "end_line", "end_column"), number)
        | {"new": text, "safe": {"type": "boolean"}},
    )
    finding = _object(
        "One finding; without a line it is about what stands in no file.",
        {
            "id": {"type": "string", "pattern": "^[A-Z][A-Z0-9]{2}[0-9]{3}$"},
            "severity": {"enum": [str(severity) for severity in Severity]},
            **dict.fromkeys(("message", "consequence", "fix", "path"), text),
            "line": place,
            "column": place,
            "suppressed": {"type": "boolean"},
            "edit": {"anyOf": [edit, {"type": "null"}]},
        },
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hmactl lint",
        **_object(
            "What `hmactl lint --format json` prints. More keys may be added, these stay.",
            {"schema": {"const": _SCHEMA}, "findings": {"type": "array", "items": finding}},
        ),
    }


def _object(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }


def _edit(one: LintFinding) -> dict[str, object] | None:
    """What the file needs for the finding to go; columns count characters, the end stays."""
    edit, change = one.finding.edit, one.change
    if edit is None or change is None:
        return None
    return change._asdict() | {"safe": edit.safe}
