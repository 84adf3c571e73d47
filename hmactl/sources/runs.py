"""A word put together from the characters of what was written, each keeping its place."""

from hmactl.deployment.places import Places, places_of_point
from hmactl.sources.shell.value import Piece, Value, part


class Runs:
    """Collects characters and pieces; characters that stand together stay one piece."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._open: Piece | None = None
        self._start = self._end = 0

    def take(self, piece: Piece, at: int) -> None:
        """The character of a known piece with that offset."""
        if self._open is not piece or self._end != at:
            self._close()
            self._open, self._start = piece, at
        self._end = at + 1

    def add(self, piece: Piece) -> None:
        """A whole piece."""
        self._close()
        self._pieces.append(piece)

    def add_text(self, text: str, places: Places) -> None:
        """Text that is written otherwise at that place."""
        if text:
            self.add(Piece(text, pointed(places)))

    def value(self) -> Value:
        """What was collected."""
        self._close()
        return tuple(self._pieces)

    def _close(self) -> None:
        if self._open is not None:
            self._pieces.append(part(self._open, self._start, self._end))
        self._open = None


def pointed(places: Places) -> Places:
    """Places of a text that stands where the others begin."""
    return places_of_point(places.at(0))
