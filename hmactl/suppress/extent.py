"""How far what begins on a line goes on: a command over several lines, a block, brackets."""

import re
from collections.abc import Sequence

# The header of a YAML block scalar, behind a key or a dash.
_BLOCK = re.compile(r"(?:^|[:\-]\s)\s*(?:[&!]\S+\s+)*[|>][+\-1-9]*\s*(?:\s#.*)?$")
_DASHES = re.compile(r"\s*(?:-\s+)*")
_MOST_LINES = 200
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def last_line(lines: Sequence[str], index: int) -> int:
    """The index of the last line of what begins on the line with that index, at least itself.

    A line in the midst of a command is only itself: the comment above it was put there to mean it.
    """
    if index >= len(lines) or begins_command(lines, index) < index:
        return index
    if _goes_on(lines[index]):
        while index + 1 < len(lines) and (_goes_on(lines[index]) or _is_comment(lines[index])):
            index += 1
        return index
    if _BLOCK.search(lines[index]):
        return _end_of_block(lines, index)
    return _end_of_brackets(lines, index)


def begins_command(lines: Sequence[str], index: int) -> int:
    """The index of the line on which the command of that line begins."""
    while index > 0 and (_goes_on(lines[index - 1]) or _is_comment(lines[index - 1])):
        index -= 1
    while _is_comment(lines[index]) and index + 1 < len(lines):
        index += 1
    return index


def _goes_on(line: str) -> bool:
    stripped = line.rstrip()
    return stripped.endswith("\\") and not _is_comment(line)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _end_of_block(lines: Sequence[str], index: int) -> int:
    head = _DASHES.match(lines[index])
    column = 0 if head is None else head.end()
    if lines[index][column:].startswith(("|", ">")):
        column = len(lines[index]) - len(lines[index].lstrip())
    last = index
    for number in range(index + 1, len(lines)):
        line = lines[number]
        if line.strip():
            if len(line) - len(line.lstrip()) <= column:
                break
            last = number
    return last


def _end_of_brackets(lines: Sequence[str], index: int) -> int:
    """Where the brackets and quotes that a line opens are closed; itself if nowhere near."""
    open_: list[str] = []
    for number in range(index, min(len(lines), index + _MOST_LINES)):
        _follow(lines[number], open_)
        if not open_:
            return number
    return index


def _follow(line: str, open_: list[str]) -> None:
    before = " "
    for character in line:
        inside = open_[-1] if open_ else ""
        if inside in {"'", '"'}:
            if character == inside and before != "\\":
                open_.pop()
        elif character == "#" and before.isspace():
            return
        elif character in _CLOSING:
            open_.append(_CLOSING[character])
        elif character == inside:
            open_.pop()
        elif character in "'\"" and (before.isspace() or before in "=:,[{("):
            open_.append(character)
        before = character
