"""Where an edit goes in a text, and what then stands there."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hmactl.finding import Change, Edit
from hmactl.fix.options import added, dropped
from hmactl.fix.region import Region

_QUOTES = "\"'"
_WORD = re.compile(r"[\w.\-]")
# Between a name and its value, in YAML, JSON, an assignment or a command line.
_BETWEEN = r"[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+)[\"']?"


class Place(NamedTuple):
    """``new`` instead of the characters from ``start`` to ``end``, 0-based."""

    start: int
    end: int
    new: str


def region(text: str, edit: Edit) -> Region | None:
    """What the edit changes in a text; None where its place has another one."""
    starts = line_starts(text)
    if (found := place(text, starts, edit)) is None:
        return None
    (line, column), (end_line, end_column) = (
        _line_and_column(starts, at) for at in (found.start, found.end)
    )
    return Region(line, column, end_line, end_column, found.new)


@lru_cache(maxsize=1)
def line_starts(text: str) -> tuple[int, ...]:
    """The offset of each line's first character."""
    # A byte order mark is no part of the first line's columns.
    first = len(text) - len(text.removeprefix("\ufeff"))
    return (first, *(match.end() for match in re.finditer("\n", text)))


def place(text: str, starts: Sequence[int], edit: Edit) -> Place | None:
    """Where the edit goes; None where another text stands there. ``starts`` are the lines'."""
    if not 0 < edit.line <= len(starts) or edit.column < 1 or not edit.old or "\n" in edit.old:
        return None
    begin = starts[edit.line - 1]
    end = starts[edit.line] if edit.line < len(starts) else len(text)
    start = begin + edit.column - 1
    if start >= end:
        return None
    if edit.change is Change.BARE:
        return _of_quoted(text, start, end, edit)
    if edit.change is not Change.TEXT:
        return _of_option(text, start, end, edit)
    if edit.behind:
        match = re.compile(_name(edit.behind) + _BETWEEN).match(text, start, end)
        if match is None or _joined(text, start - 1, start):
            return None
        start = match.end()
    elif text[start] in _QUOTES and edit.old[0] not in _QUOTES:
        start += 1
    stop = start + len(edit.old)
    if stop > end or text[start:stop] != edit.old:
        return None
    if _joined(text, start - 1, start) or _joined(text, stop - 1, stop):
        return None
    return Place(start, stop, edit.new)


def _of_quoted(text: str, start: int, end: int, edit: Edit) -> Place | None:
    quoted = rf"(?P<value>(?P<quote>[\"']){re.escape(edit.old)}(?P=quote))"
    between = r"[\"']?[ \t]*[:=][ \t]*"
    match = re.compile(_name(edit.behind) + between + quoted).match(text, start, end)
    if match is None or _joined(text, start - 1, start):
        return None
    return Place(*match.span("value"), edit.new)


def _of_option(text: str, start: int, end: int, edit: Edit) -> Place | None:
    match = re.compile(rf"[\"']?(?P<option>{_option(edit.old)})(?![\w\-])").match(text, start, end)
    if match is None or _joined(text, start - 1, start):
        return None
    at, stop = match.span("option")
    match edit.change:
        case Change.ADD:
            found = added(text, at, stop, edit.new)
        case Change.DROP:
            found = dropped(text, at, stop)
        case _:
            dashes = "--" if text.startswith("--", at) else ""
            underscores = "_" in text[at:stop] and "-" not in text[at + len(dashes) : stop]
            new = edit.new.replace("-", "_") if underscores else edit.new
            found = (at, stop, f"{dashes}{new}")
    return None if found is None else Place(*found)


def _line_and_column(starts: Sequence[int], at: int) -> tuple[int, int]:
    line = max(1, bisect_right(starts, at))
    return line, at - starts[line - 1] + 1


def _name(name: str) -> str:
    """A pattern for a name, quoted or as an option, whose dashes may be underscores."""
    return r"[\"']?" + _option(name)


def _option(name: str) -> str:
    return r"(?:--)?" + re.sub(r"\\-|_", "[-_]", re.escape(name))


def _joined(text: str, left: int, right: int) -> bool:
    """Whether the characters at two neighbouring places belong to one word."""
    if left < 0 or right >= len(text):
        return False
    return bool(_WORD.match(text[left]) and _WORD.match(text[right]))
