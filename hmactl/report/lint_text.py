"""The findings of a lint for a person."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hmactl.finding import Severity
from hmactl.report.finding_text import Style, finding_lines, plain
from hmactl.report.lint_finding import LintFinding, in_order


def render_lint_text(findings: Sequence[LintFinding], style: Style = plain) -> str:
    """Every finding that counts, then how many there are; "" where there is nothing to say.

    Suppressed findings are counted. What there is ends with a newline.
    """
    lines = list(_lines(findings, style))
    return "".join(f"{line}\n" for line in lines)


def _lines(findings: Sequence[LintFinding], style: Style) -> Iterator[str]:
    for one in in_order(findings):
        if one.counts:
            yield from finding_lines(one.finding, one.source_line, style)
    if any(one.counts for one in findings):
        yield total(findings)


def total(findings: Sequence[LintFinding]) -> str:
    """How many findings of which severity, how many suppressed ones, and how many have a fix."""
    counts = Counter(one.finding.severity for one in findings if one.counts)
    words = [(counts[severity], str(severity)) for severity in Severity if counts[severity]]
    parts = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in words]
    if suppressed := sum(not one.counts for one in findings):
        parts.append(f"{suppressed} suppressed")
    fixes = sum(one.counts and one.change is not None for one in findings)
    unsafe = any(one.change is not None and not _is_safe(one) for one in findings if one.counts)
    how = "--fix --unsafe-fixes" if unsafe else "--fix"
    return ", ".join(parts) + (f" ({fixes} can be fixed with {how})" if fixes else "")


def _is_safe(one: LintFinding) -> bool:
    return one.finding.edit is not None and one.finding.edit.safe
