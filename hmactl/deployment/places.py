"""Where the characters of a text stand in the file that it was taken from."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from hmactl.deployment.setting import Origin


class Stretch(NamedTuple):
    """From ``offset`` on, characters stand at that 1-based line, from that 1-based column on.

    ``even`` is False where the file writes them otherwise (escapes, joined lines), so that only
    the stretch's own place is certain.
    """

    offset: int
    line: int
    column: int
    even: bool = True


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a text's characters; ``stretches`` ascend, and the first has offset 0."""

    source: str
    stretches: tuple[Stretch, ...]

    def at(self, offset: int) -> Origin:
        """The place of the character with that 0-based offset."""
        index = bisect_right(self.stretches, offset, key=lambda stretch: stretch.offset) - 1
        stretch = self.stretches[max(index, 0)]
        column = stretch.column + (offset - stretch.offset if stretch.even else 0)
        return Origin(self.source, stretch.line, column)

    def certain(self, offset: int) -> Origin | None:
        """The same; None where the file writes that character otherwise."""
        index = bisect_right(self.stretches, offset, key=lambda stretch: stretch.offset) - 1
        return self.at(offset) if self.stretches[max(index, 0)].even else None

    def between(self, start: int, end: int) -> "Places":
        """The places of the part from ``start`` to ``end``."""
        first = self.at(start)
        index = bisect_right(self.stretches, start, key=lambda stretch: stretch.offset) - 1
        even = self.stretches[max(index, 0)].even
        behind = bisect_left(self.stretches, end, key=lambda stretch: stretch.offset)
        following = (
            stretch._replace(offset=stretch.offset - start)
            for stretch in self.stretches[index + 1 : behind]
            if stretch.offset > start
        )
        head = Stretch(0, first.line or 1, first.column or 1, even)
        return Places(self.source, (head, *following))


def places_of_file(source: str, text: str) -> Places:
    """The places in a text that is a whole file."""
    stretches, offset = [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        stretches.append(Stretch(offset, number, 1))
        offset += len(line) + 1
    return Places(source, tuple(stretches))


def places_of_point(origin: Origin) -> Places:
    """For a text of which only the place as a whole is known."""
    return Places(origin.source, (Stretch(0, origin.line or 1, origin.column or 1, even=False),))
