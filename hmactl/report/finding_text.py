"""One finding as a good compiler shows it: place, message, source line with a caret, what to do."""

from collections.abc import Callable, Iterator

from hmactl.finding import Finding
from hmactl.report.redact import redact

Style = Callable[[str, str], str]
"""Text and a style name to text: "error", "warning", "info", "good", "bold", "dim"."""

_MAX_SNIPPET = 160


def plain(text: str, _style: str) -> str:
    """No styles."""
    return text


def finding_lines(finding: Finding, source_line: str | None, style: Style = plain) -> Iterator[str]:
    """The lines about one finding, secrets hidden; ``source_line`` is the one that it is about."""
    severity, origin = str(finding.severity), finding.origin
    label = style(f"{severity}[{finding.id}]", severity)
    yield f"{style(redact(str(origin)), 'bold')}: {label} {redact(finding.message)}"
    if source_line is not None and origin.line is not None:
        yield from _snippet(source_line.rstrip(), origin.line, origin.column or 1, severity, style)
    yield f"    {redact(finding.consequence)}"
    if finding.fix:
        first, *rest = redact(finding.fix).split("\n")
        yield f"    {style('fix:', 'bold')} {first}"
        yield from (f"      {line}" for line in rest)


def _snippet(text: str, line: int, column: int, severity: str, style: Style) -> Iterator[str]:
    if len(text) > _MAX_SNIPPET:
        return
    shown, before = redact(text), text[: column - 1]
    gutter = f"{line:>5} | "
    yield style(f"{gutter}{shown}", "dim")
    if shown.startswith(before):
        blank = "".join("\t" if character == "\t" else " " for character in before)
        blank += " " * (column - 1 - len(before))
        yield style(f"{' ' * (len(gutter) - 2)}| {blank}^", severity)
