"""The findings of a lint as annotations of a GitHub Actions run."""

from collections.abc import Sequence

from hmactl.finding import Severity
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(findings: Sequence[LintFinding]) -> str:
    """One workflow command a line for each finding that counts; "" where there is none."""
    return "".join(f"{_command(one)}\n" for one in in_order(findings) if one.counts)


def _command(one: LintFinding) -> str:
    finding = one.finding
    properties: dict[str, str] = {}
    if one.file is not None:
        properties["file"] = redact(one.file)
        if finding.origin.line is not None:
            properties["line"] = str(finding.origin.line)
            properties["col"] = str(finding.origin.column or 1)
    properties["title"] = finding.id
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    fix = [f"fix: {finding.fix}"] if finding.fix else []
    text = "\n".join(redact(part) for part in (finding.message, finding.consequence, *fix))
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(text)}"


# GitHub's runner takes back exactly these escapes.
def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
