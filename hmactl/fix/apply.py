"""Make edits to a text: exactly these, and only where the text is what they expect."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from hmactl.finding import Edit, Finding
from hmactl.fix.place import Place, line_starts, place
from hmactl.fix.replace_file import replace_file


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
    starts = line_starts(text)
    places: list[tuple[Place, Edit]] = []
    refused = []
    for edit in dict.fromkeys(edits):
        found = place(text, starts, edit)
        if found is None:
            refused.append(Refused(edit, f"`{edit.old}` does not stand there"))
        else:
            places.append((found, edit))
    places.sort(key=lambda placed: placed[0][:2])
    clear, before = [], 0
    for index, (found, edit) in enumerate(places):
        after = places[index + 1][0].start if index + 1 < len(places) else len(text)
        if before > found.start or after < found.end:
            refused.append(Refused(edit, "it overlaps another edit"))
        else:
            clear.append((found, edit))
        before = max(before, found.end)
    parts, at = [], 0
    for found, _ in clear:
        parts += [text[at : found.start], found.new]
        at = found.end
    return Applied("".join([*parts, text[at:]]), tuple(edit for _, edit in clear), tuple(refused))


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
