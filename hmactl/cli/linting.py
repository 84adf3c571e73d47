"""What ``hmactl lint`` is asked, and what it says."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from hmactl.cli.reading import Reading, UsageFailure
from hmactl.cli.terminal import styler
from hmactl.configuration.configuration import Configuration, overridden
from hmactl.configuration.load import load_configuration
from hmactl.configuration.problem import ConfigurationError
from hmactl.deployment.form import Form
from hmactl.finding import Edit, Finding, Severity
from hmactl.fix.region import Region
from hmactl.lint import Pins
from hmactl.lint_files import FileResult, Request, lint_path, lint_text
from hmactl.report.lint_finding import LintFinding
from hmactl.report.lint_text import render_lint_text
from hmactl.sources.selection import Selection
from hmactl.sources.supplied import beside


@dataclass(frozen=True, slots=True)
class Linting:
    """The options of a command line and the repository's own."""

    request: Request
    configuration: Configuration
    exit_zero: bool
    statistics: bool
    output: str
    color: str

    @classmethod
    def of(cls, options: dict[str, Any], start: Path) -> Self:
        """The options as click gives them, with the configuration that holds for ``start``.

        Raises click.UsageError for one that cannot be used.
        """
        try:
            found = load_configuration(start, options["config"])
        except ConfigurationError as error:
            raise click.UsageError(str(error)) from None
        configuration = overridden(
            found,
            select=_ids(options["select"]),
            ignore=_ids(options["ignore"]),
            include=options["include"],
            exclude=options["exclude"],
            vllm=options["vllm"],
            lmcache=options["lmcache"],
            fail_on=None if options["fail_on"] is None else Severity(options["fail_on"]),
            baseline=options["baseline"],
        )
        reading = Reading.of(options)
        request = Request(
            working=Path.cwd(),
            given=reading.given(),
            pins=Pins(configuration.vllm, configuration.lmcache),
            selection=Selection(configuration.include, configuration.exclude),
            form=None if reading.form is None else Form(reading.form),
        )
        return cls(
            request,
            configuration,
            options["exit_zero"],
            options["statistics"],
            options["output"],
            options["color"],
        )

    def results(self, paths: Sequence[str]) -> list[FileResult]:
        """What was read, in the order of the paths."""
        found: list[FileResult] = []
        for path in paths:
            if path == "-":
                text = sys.stdin.buffer.read().decode("utf-8", "replace")
                given = beside(self.request.given, self.request.working, self.request.working)
                form = self.request.form
                found.append(lint_text("-", text, self.request.pins, given, form, named=True))
            else:
                found += lint_path(Path(path), self.request)
        return found

    def findings(self, results: Sequence[FileResult]) -> list[LintFinding]:
        """What was found and chosen; what comments suppress says so."""
        found = [one for result in results for one in _judged(result)]
        chosen = self.configuration.is_chosen
        return [one for one in found if chosen(one.finding.id, one.finding.origin.source)]

    def compared(self, findings: Sequence[LintFinding]) -> list[LintFinding]:
        """The same with those suppressed that the baseline has.

        Raises UsageFailure for a baseline that cannot be read.
        """
        if self.configuration.baseline is None:
            return [*findings]
        from hmactl.baseline import BaselineError, compare, read_baseline

        try:
            compared = compare(findings, read_baseline(self.configuration.baseline))
        except BaselineError as error:
            raise UsageFailure(str(error)) from None
        if compared.gone:
            count = len(compared.gone)
            what = "finding is" if count == 1 else "findings are"
            note = f"hmactl: {count} {what} gone; --write-baseline takes them from the baseline"
            click.echo(note, err=True)
        return [*compared.findings]

    def fixed(
        self, findings: Sequence[LintFinding], results: Sequence[FileResult], *, unsafe: bool
    ) -> list[tuple[FileResult, tuple[Edit, ...]]]:
        """The files that have edits, with them."""
        from hmactl.fix.apply import edits_of

        edits = edits_of((one.finding for one in findings if one.counts), unsafe=unsafe)
        return [(result, edits[result.source]) for result in results if result.source in edits]

    def rendered(self, findings: Sequence[LintFinding], results: Sequence[FileResult]) -> str:
        """The findings in the form asked for; in text, nothing where there are none."""
        match self.output:
            case "json":
                from hmactl.report.lint_json import render_lint_json

                return render_lint_json(findings)
            case "sarif":
                from hmactl.report.sarif import published_pages, render_sarif

                return render_sarif(findings, pages=published_pages())
            case "github":
                from hmactl.report.github import render_github

                return render_github(findings)
            case "gitlab":
                from hmactl.report.gitlab import render_gitlab

                return render_gitlab(findings)
            case "junit":
                from hmactl.report.junit import render_junit

                return render_junit(findings, [result.source for result in results])
        counts = _statistics(findings) if self.statistics else []
        lines = "".join(f"{line}\n" for line in counts)
        return render_lint_text(findings, styler(self.color)) + lines

    def unjudged(self, results: Sequence[FileResult]) -> str:
        """What would have to be known to say more; "" where all was judged."""
        if not any(one.deployments or one.findings or one.failure for one in results):
            return "hmactl: nothing was judged: no deployment and no LMCache server was found"
        reasons = Counter(reason for result in results for reason in result.open)
        if not reasons:
            return ""
        lines = ["hmactl: without an engine not everything could be judged:"]
        for reason, count in reasons.most_common(_MOST_REASONS):
            lines.append(f"  {count} deployment{'' if count == 1 else 's'}: {reason}")
        if len(reasons) > _MOST_REASONS:
            lines.append(f"  and {len(reasons) - _MOST_REASONS} reasons more")
        return "\n".join(lines)

    def failed(self, results: Sequence[FileResult]) -> str:
        """The files that could not be judged, and why; "" where there are none."""
        return "\n".join(
            f"hmactl: {one.source} is not judged: {one.failure}" for one in results if one.failure
        )

    def status(self, findings: Sequence[LintFinding], results: Sequence[FileResult]) -> int:
        """The exit status: 2 where a file was not judged."""
        if any(one.failure is not None for one in results):
            return 2
        ranks = [one.finding.severity.rank for one in findings if one.counts]
        return int(
            not self.exit_zero and any(rank <= self.configuration.fail_on.rank for rank in ranks)
        )


_MOST_REASONS = 10


def _judged(result: FileResult) -> Iterator[LintFinding]:
    lines = [] if result.text is None else result.text.split("\n")
    judged: Sequence[tuple[Finding, str | None]] = [(finding, None) for finding in result.findings]
    if result.text is not None and "hmactl:" in result.text:
        from hmactl.rules.explain import documented
        from hmactl.suppress.inline import suppress

        known = [identifier for identifier, _title in documented()]
        judged = suppress(
            result.source,
            result.text,
            result.findings,
            known,
            form=result.form,
            # What was left open may be what a comment is about.
            judged=lambda rule: not result.open and not rule.startswith("ENG"),
        )
    for finding, reason in judged:
        number = finding.origin.line
        here = finding.origin.source == result.source and number is not None
        line = lines[number - 1] if here and number is not None and number <= len(lines) else None
        yield LintFinding(finding, line, reason, change=_change(result, finding))


def _change(result: FileResult, finding: Finding) -> Region | None:
    """Where the finding's edit goes in the file that was read."""
    if result.text is None or finding.edit is None or finding.edit.source != result.source:
        return None
    from hmactl.fix.place import region
    from hmactl.report.redact import redact

    found = region(result.text, finding.edit)
    return found if found is not None and redact(found.new) == found.new else None


def _ids(text: str | None) -> tuple[str, ...]:
    """Rule ids or their beginnings, as written on a command line."""
    return tuple(part.strip().upper() for part in (text or "").split(",") if part.strip())


def _statistics(findings: Sequence[LintFinding]) -> list[str]:
    counts = Counter((f.finding.id, str(f.finding.severity)) for f in findings if f.counts)
    return [f"{count:>6}  {rule}  {severity}" for (rule, severity), count in counts.most_common()]
