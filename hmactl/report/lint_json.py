"""The findings of a lint as JSON."""

import json
from collections.abc import Sequence

from hmactl.finding import Finding
from hmactl.report.redact import redact


def render_lint_json(findings: Sequence[Finding]) -> str:
    """``hmactl-lint/1``: the findings in their order; more keys may be added, these stay."""
    shown = [
        {
            "id": finding.id,
            "severity": str(finding.severity),
            "message": redact(finding.message),
            "consequence": redact(finding.consequence),
            "fix": redact(finding.fix),
            "path": finding.origin.source,
            "line": finding.origin.line,
            "column": finding.origin.column,
        }
        for finding in findings
    ]
    return json.dumps({"schema": "hmactl-lint/1", "findings": shown}, indent=2) + "\n"
