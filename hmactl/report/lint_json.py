"""The findings of a lint as JSON."""

import json
from collections.abc import Sequence

from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact


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
    return json.dumps({"schema": "hmactl-lint/1", "findings": shown}, indent=2) + "\n"


def _edit(one: LintFinding) -> dict[str, object] | None:
    """What the file needs for the finding to go; columns count characters, the end stays."""
    edit, change = one.finding.edit, one.change
    if edit is None or change is None:
        return None
    return change._asdict() | {"safe": edit.safe}
