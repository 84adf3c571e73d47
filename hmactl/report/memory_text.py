"""The account of memory, and what to verify after start, for a person at a terminal."""

from collections.abc import Iterator, Sequence

from hmactl.account.line import Unit
from hmactl.deployment.size import format_gib
from hmactl.report.model import MemoryLine, MemorySection, ToVerify


def render_memory(sections: Sequence[MemorySection]) -> Iterator[str]:
    """Every section with its figures in bytes and GiB, and the arithmetic beside each."""
    for section in sections:
        yield ""
        yield f"  {section.title}"
        rows = [(line.name, *_value(line), line.how) for line in section.lines]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        for name, value, gib, how in rows:
            cells = f"{name:<{widths[0]}}  {value:>{widths[1]}}  {gib:>{widths[2]}}  {how}"
            yield f"    {cells}"
        for note in section.notes:
            yield f"    {note}"


def _value(line: MemoryLine) -> tuple[str, str]:
    """The figure, and the same in GiB if it is bytes; an estimate is marked as such."""
    about = "about " if line.estimate else ""
    if line.unit is Unit.BYTES:
        low = "" if line.low is None else f"{line.low:,.0f} to "
        low_gib = "" if line.low is None else f"{line.low / 2**30:.2f} to "
        return f"{about}{low}{line.value:,.0f} B", f"{low_gib}{format_gib(int(line.value))}"
    low = "" if line.low is None else f"{_number(line.low)} to "
    unit = {Unit.RATE: "B a token", Unit.SECONDS: "s"}.get(line.unit, str(line.unit))
    return f"{about}{low}{_number(line.value)} {unit}", ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def render_to_verify(checks: Sequence[ToVerify]) -> Iterator[str]:
    """One line for each thing to look at."""
    if not checks:
        return
    yield ""
    yield "to verify after start:"
    for check in checks:
        yield f"  {check.what}: {check.evidence} `{check.name}`: {check.expected}"
