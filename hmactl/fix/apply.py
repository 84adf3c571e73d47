"""Make edits to a text: exactly these, and only where the text is what they expect."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from hmactl.finding import Edit, Finding
from hmactl.fix.replace_file import replace_file

_WORD = re.compile(r"[\w.\-]")
# Between a name and its value, in YAML, JSON, an assignment or a command line.
_BETWEEN = r"[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+)[\"']?"


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that was not made, and why."""

    edit: Edit
    why: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The text with the edits that were made to it, and those that were not."""

    text: str
    made: tuple[Edit, ...]
    refused: tuple[Refused, ...]


def edits_of(findings: Iterable[Finding], *, unsafe: bool = False) -> dict[str, tuple[Edit, ...]]:
    """The edits that findings come with, each once, by the file that they are for."""
    found: dict[str, dict[Edit, None]] = {}
    for finding in findings:
        edit = finding.edit
        if edit is not None and (edit.safe or unsafe):
            found.setdefault(edit.source, {})[edit] = None
    return {source: tuple(edits) for source, edits in found.items()}


def apply_edits(text: str, edits: Sequence[Edit]) -> Applied:
    """Make the edits; what stands around their places stays as it is, to the byte.

    One whose place has another text is refused, and so are all that overlap each other.
    """
    starts = _line_starts(text)
    places: list[tuple[int, int, Edit]] = []
    refused = []
    for edit in dict.fromkeys(edits):
        place = _place(text, starts, edit)
        if place is None:
            refused.append(Refused(edit, f"`{edit.old}` does not stand there"))
        else:
            places.append((*place, edit))
    places.sort(key=lambda place: place[:2])
    clear = []
    for index, (start, end, edit) in enumerate(places):
        before = max((other[1] for other in places[:index]), default=0)
        after = places[index + 1][0] if index + 1 < len(places) else len(text)
        if before > start or after < end:
            refused.append(Refused(edit, "it overlaps another edit"))
        else:
            clear.append((start, end, edit))
    parts, at = [], 0
    for start, end, edit in clear:
        parts += [text[at:start], edit.new]
        at = end
    return Applied("".join([*parts, text[at:]]), tuple(e for *_, e in clear), tuple(refused))


def fix_file(path: Path, text: str, edits: Sequence[Edit]) -> Applied:
    """Make the edits in a file that had this text when it was read.

    Raises ChangedError if it has another one by now, OSError where it cannot be written; then the
    file is as it was.
    """
    applied = apply_edits(text, edits)
    if applied.made:
        replace_file(path, applied.text.encode(), expected=text.encode())
    return applied


def as_diff(source: str, before: str, after: str) -> str:
    """The difference as a unified diff that `patch -p1` takes; "" where there is none."""
    name = source.lstrip("/")
    lines = unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    return [line for line in re.split("(?<=\n)", text) if line]


def _line_starts(text: str) -> list[int]:
    # A byte order mark is no part of the first line's columns.
    first = len(text) - len(text.removeprefix("\ufeff"))
    return [first, *(match.end() for match in re.finditer("\n", text))]


def _place(text: str, starts: Sequence[int], edit: Edit) -> tuple[int, int] | None:
    if not 0 < edit.line <= len(starts) or edit.column < 1 or not edit.old or "\n" in edit.old:
        return None
    begin = starts[edit.line - 1]
    end = starts[edit.line] if edit.line < len(starts) else len(text)
    start = begin + edit.column - 1
    if start >= end:
        return None
    if edit.behind:
        match = re.compile(_name(edit.behind) + _BETWEEN).match(text, start, end)
        if match is None or _joined(text, start - 1, start):
            return None
        start = match.end()
    stop = start + len(edit.old)
    if stop > end or text[start:stop] != edit.old:
        return None
    if _joined(text, start - 1, start) or _joined(text, stop - 1, stop):
        return None
    return start, stop


def _name(name: str) -> str:
    """A pattern for a name, quoted or as an option, whose dashes may be underscores."""
    return r"[\"']?(?:--)?" + re.sub(r"\\-|_", "[-_]", re.escape(name))


def _joined(text: str, left: int, right: int) -> bool:
    """Whether the characters at two neighbouring places belong to one word."""
    if left < 0 or right >= len(text):
        return False
    return bool(_WORD.match(text[left]) and _WORD.match(text[right]))
