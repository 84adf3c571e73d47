"""What ``hmactl lint`` is asked, and what it says."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from hmactl.cli.asking import Reading
from hmactl.cli.terminal import styler
from hmactl.deployment.form import Form
from hmactl.finding import Finding, Severity
from hmactl.lint import Pins
from hmactl.lint_files import FileResult, Request, lint_path, lint_text
from hmactl.report.build import finding_report
from hmactl.report.lint_json import render_lint_json
from hmactl.report.text import render_findings
from hmactl.sources.supplied import beside
from hmactl.sources.walk import Selection


@dataclass(frozen=True, slots=True)
class Linting:
    """The options of a command line."""

    request: Request
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: Severity
    exit_zero: bool
    statistics: bool
    output: str
    color: str

    @classmethod
    def of(cls, options: dict[str, Any]) -> Self:
        """The options as click gives them."""
        reading = Reading.of(options)
        request = Request(
            working=Path.cwd(),
            given=reading.given(),
            pins=Pins(options["vllm"], options["lmcache"]),
            selection=Selection(options["include"], options["exclude"]),
            form=None if reading.form is None else Form(reading.form),
        )
        return cls(
            request,
            _ids(options["select"]),
            _ids(options["ignore"]),
            Severity(options["fail_on"]),
            options["exit_zero"],
            options["statistics"],
            options["output"],
            options["color"],
        )

    def results(self, paths: Sequence[str]) -> list[FileResult]:
        """What was found, in the order of the paths."""
        found: list[FileResult] = []
        for path in paths:
            if path == "-":
                text = sys.stdin.buffer.read().decode("utf-8", "replace")
                given = beside(self.request.given, self.request.working, self.request.working)
                form = self.request.form
                found.append(lint_text("-", text, self.request.pins, given, form, named=True))
            else:
                found += lint_path(Path(path), self.request)
        return [self._chosen(result) for result in found]

    def _chosen(self, result: FileResult) -> FileResult:
        kept = [finding for finding in result.findings if self._is_chosen(finding)]
        return replace(result, findings=tuple(kept))

    def _is_chosen(self, finding: Finding) -> bool:
        if self.ignore and finding.id.startswith(self.ignore):
            return False
        return not self.select or finding.id.startswith(self.select)

    def rendered(self, results: Sequence[FileResult]) -> str:
        """The findings in the form asked for; nothing where there are none."""
        findings = [finding for result in results for finding in result.findings]
        if self.output == "json":
            return render_lint_json(findings)
        lines = render_findings(map(finding_report, findings), styler(self.color))
        counts = _statistics(findings) if self.statistics else []
        return "".join(f"{line}\n" for line in (*lines, *counts, *_total(findings)))

    def unjudged(self, results: Sequence[FileResult]) -> str:
        """What would have to be known to say more; "" where all was judged."""
        reasons = Counter(reason for result in results for reason in result.open)
        if not reasons:
            return ""
        lines = ["hmactl: without an engine not everything could be judged:"]
        for reason, count in reasons.most_common(_MOST_REASONS):
            lines.append(f"  {count} deployment{'' if count == 1 else 's'}: {reason}")
        if len(reasons) > _MOST_REASONS:
            lines.append(f"  and {len(reasons) - _MOST_REASONS} reasons more")
        return "\n".join(lines)

    def status(self, results: Sequence[FileResult]) -> int:
        """The exit status."""
        ranks = [finding.severity.rank for result in results for finding in result.findings]
        return int(not self.exit_zero and any(rank <= self.fail_on.rank for rank in ranks))


_MOST_REASONS = 10


def _ids(text: str | None) -> tuple[str, ...]:
    """Rule ids or their beginnings, as written on a command line."""
    return tuple(part.strip().upper() for part in (text or "").split(",") if part.strip())


def _statistics(findings: Sequence[Finding]) -> list[str]:
    counts = Counter((finding.id, str(finding.severity)) for finding in findings)
    return [f"{count:>6}  {rule}  {severity}" for (rule, severity), count in counts.most_common()]


def _total(findings: Sequence[Finding]) -> list[str]:
    counts = Counter(str(finding.severity) for finding in findings)
    parts = [
        f"{counts[word]} {word}{'' if counts[word] == 1 else 's'}"
        for word in ("error", "warning", "info")
        if counts[word]
    ]
    return [", ".join(parts)] if parts else []
