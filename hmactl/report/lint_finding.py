"""One finding of a lint, with what its renderers need to know besides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hmactl.finding import Finding
from hmactl.fix.region import Region

_NO_FILE = frozenset({"-", "command line", "environment", "default"})


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A finding, the text of the line that it is about, and whether somebody suppressed it.

    ``suppressed`` is the reason given, "" for none, and None where the finding counts.
    ``in_source`` tells a comment's suppression from one by a configuration or a baseline.
    ``deployment`` is the name of the deployment that it is about, ``change`` where the finding's
    edit goes in its file.
    """

    finding: Finding
    source_line: str | None = None
    suppressed: str | None = None
    deployment: str | None = None
    in_source: bool = True
    change: Region | None = None

    @property
    def counts(self) -> bool:
        """Whether nobody suppressed it."""
        return self.suppressed is None

    @property
    def file(self) -> str | None:
        """The path of its file; None for what was given on the command line and the like."""
        source = self.finding.origin.source
        return None if source in _NO_FILE else source


def in_order(findings: Iterable[LintFinding]) -> Sequence[LintFinding]:
    """By file, place, severity and id, so that the same input gives the same output."""

    def key(one: LintFinding) -> tuple[str, int, int, int, str, str]:
        finding = one.finding
        place = (finding.origin.source, finding.origin.line or 0, finding.origin.column or 0)
        return (*place, finding.severity.rank, finding.id, finding.message)

    return sorted(findings, key=key)
