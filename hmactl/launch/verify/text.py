"""A verification for a person at a terminal."""

import json
from collections.abc import Iterator
from typing import Any

from hmactl.launch.verify.result import Comparison, State, Verification
from hmactl.report.finding_text import Style, plain

_STYLES = {State.SAME: "good", State.DIFFERS: "error", State.UNKNOWN: "dim"}
_WORDS = {State.SAME: "as planned", State.DIFFERS: "differs", State.UNKNOWN: "not known"}


def render_verification(verification: Verification, style: Style = plain) -> str:
    """A table of what was planned and found, then the verdict. Ends without a newline."""
    return "\n".join(_lines(_shown(verification), style))


def harmless(text: str) -> str:
    """Without characters that would move a terminal's cursor: a server may say anything."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _shown(verification: Verification) -> Verification:
    texts = json.loads(verification.model_dump_json(by_alias=True))
    return Verification.model_validate(_harmless(texts))


def _harmless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _harmless(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_harmless(one) for one in value]
    return harmless(value) if isinstance(value, str) else value


def _lines(verification: Verification, style: Style) -> Iterator[str]:
    version = "" if verification.version is None else f"  vLLM {verification.version}"
    yield style(verification.server, "bold") + version
    if verification.comparisons:
        yield from _table(verification.comparisons, style)
        yield ""
    yield _verdict(verification, style)


def _table(comparisons: tuple[Comparison, ...], style: Style) -> Iterator[str]:
    shown = [one for one in comparisons if one.planned is not None or one.found is not None]
    rows = [("", "planned", "found", "")]
    rows += [(one.what, one.planned or "-", one.found or "-", _word(one)) for one in shown]
    widths = [min(48, max(len(row[i]) for row in rows)) for i in range(3)]
    for number, row in enumerate(rows):
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        line = f"  {cells}  "
        if number == 0:
            yield line.rstrip()
            continue
        one = shown[number - 1]
        why = "" if one.meaning is None else f": {one.meaning}"
        yield (line + style(row[3], _STYLES[one.state]) + why).rstrip()


def _word(one: Comparison) -> str:
    return "" if one.planned is None else _WORDS[one.state]


def _verdict(verification: Verification, style: Style) -> str:
    wrong = [one.what for one in verification.comparisons if one.state is State.DIFFERS]
    if wrong:
        left = f"; the rest: {verification.failure}" if verification.failure else ""
        return f"verdict: {style('differs', 'error')}: {', '.join(dict.fromkeys(wrong))}{left}"
    if verification.failure is not None:
        return f"verdict: {style('cannot be asked', 'error')}: {verification.failure}"
    same = sum(one.state is State.SAME for one in verification.comparisons)
    open_ = [
        one.what
        for one in verification.comparisons
        if one.state is State.UNKNOWN and one.planned is not None
    ]
    if not same:
        return "verdict: nothing was planned to hold it against"
    rest = f"; not known: {', '.join(open_)}" if open_ else ""
    return f"verdict: {style('as planned', 'good')}{rest}"
