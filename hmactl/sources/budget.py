"""A bound on what the variables of one source may come to."""

from collections.abc import Iterable

from hmactl.sources.shell.value import Piece

_CHARACTERS = 1 << 18


class Budget:
    """Text that repeats other text can grow without end: ``A=$A$A`` doubles it in every line."""

    def __init__(self, characters: int = _CHARACTERS) -> None:
        self._left = characters

    def covers(self, value: Iterable[Piece]) -> bool:
        """Whether this much more may be put in; what does not fit is not known."""
        length = sum(len(piece.text) for piece in value) + 1
        if length > self._left:
            return False
        self._left -= length
        return True
