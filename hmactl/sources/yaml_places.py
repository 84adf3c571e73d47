"""Where the characters of a YAML scalar stand in its file, block scalars included."""

from collections.abc import Sequence
from typing import Any

from hmactl.deployment.places import Stretch


def scalar_stretches(event: Any, lines: Sequence[str]) -> tuple[Stretch, ...]:
    """The places of the value that the parser made of a scalar.

    ``event`` is PyYAML's, ``lines`` are the file's. Each line of the file is looked up in the value
    behind the one before it, which holds for literal, folded, quoted and plain scalars alike. A
    line that is not found, because escapes stand in it, leaves its characters to the one before.
    """
    first, last = event.start_mark.line, min(event.end_mark.line, len(lines) - 1)
    column = event.start_mark.column
    if event.style in {"'", '"'}:
        column += 1
    if event.style not in {"|", ">"} and first >= last:
        even = event.style is None or (first == last and event.value in lines[first])
        return (Stretch(0, first + 1, column + 1, even),)
    found = [Stretch(0, first + 1, column + 1, even=False)]
    value, offset = event.value, 0
    for number in range(first, last + 1):
        if number == first:
            if event.style in {"|", ">"}:
                continue
            line, skipped = lines[first][column:], column
        else:
            line, skipped = lines[number], 0
        piece = line.strip()
        if not piece:
            continue
        at = value.find(piece, offset)
        if at < 0:
            piece = piece.rstrip("\"'\\")
            at = value.find(piece, offset) if piece else -1
        if at < 0:
            continue
        stretch = Stretch(at, number + 1, skipped + len(line) - len(line.lstrip()) + 1)
        found = [*(found if at else []), stretch]
        offset = at + len(piece)
    return tuple(found)
