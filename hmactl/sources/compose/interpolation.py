"""Compose's own ``$NAME``, ``${NAME:-default}`` and ``$$``, before anything else is read."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hmactl.deployment.setting import Origin
from hmactl.sources.braces import closing_braces
from hmactl.sources.budget import Budget
from hmactl.sources.process.word import Word
from hmactl.sources.runs import pointed
from hmactl.sources.shell.value import Piece, Value, from_word, known_text, part

Lookup = Callable[[str], Word | None]
"""The value of a variable where Compose runs, None where nothing is known of it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")
_DEEPEST = 16


@dataclass(slots=True)
class Interpolation:
    """``used`` are the names that were asked for, ``invalid`` the places of a `$` that Compose
    refuses; ``lenient`` leaves such a `$` as it stands, as in files of variables."""

    lookup: Lookup
    used: dict[str, Origin]
    invalid: list[Origin]
    lenient: bool = False
    budget: Budget = field(default_factory=Budget)

    def run(self, text: Value) -> Value:
        """The text with its variables replaced."""
        return tuple(
            replaced
            for piece in text
            for replaced in (self._piece(piece, 0) if piece.known else (piece,))
        )

    def _piece(self, piece: Piece, depth: int) -> Iterator[Piece]:
        text, kept = piece.text, 0
        braces = closing_braces(text)
        at = text.find("$")
        while at >= 0:
            if at > kept:
                yield part(piece, kept, at)
            kept = at + 2
            if text.startswith("$$", at) and not self.lenient:
                yield part(piece, at + 1, at + 2)
            elif (name := _NAME.match(text, at + 1)) is not None:
                kept = name.end()
                yield from self._variable(part(piece, at, kept), name[0], None, depth)
            elif (end := braces.get(at)) is not None:
                kept = end + 1
                yield from self._braced(part(piece, at, kept), depth)
            else:
                kept = at + 1
                yield from self._refused(part(piece, at, kept))
            at = text.find("$", kept)
        if kept < len(text):
            yield part(piece, kept, len(text))

    def _braced(self, written: Piece, depth: int) -> Iterator[Piece]:
        inner = part(written, 2, len(written.text) - 1)
        name = _NAME.match(inner.text)
        if name is None:
            yield from self._refused(written)
        elif name.end() == len(inner.text):
            yield from self._variable(written, name[0], None, depth)
        elif (operator := _OPERATOR.match(inner.text, name.end())) is not None:
            yield from self._variable(written, name[0], (inner, operator), depth)
        else:
            yield from self._refused(written)

    def _variable(
        self, written: Piece, name: str, form: tuple[Piece, re.Match[str]] | None, depth: int
    ) -> Iterator[Piece]:
        self.used.setdefault(name, written.places.at(0))
        word = self.lookup(name)
        value = None if word is None else from_word(word)
        if value is not None and not self.budget.covers(value):
            value, form = None, None
        unknown = Piece(written.text, pointed(written.places), False, (name,), splits=True)
        if form is None or depth >= _DEEPEST:
            yield from (unknown,) if value is None else value
            return
        inner, operator = form
        missing = value is None or (operator[0][0] == ":" and known_text(value) == "")
        kind = operator[0][-1]
        wanted = not missing if kind == "+" else missing and kind == "-"
        if wanted:
            yield from self._piece(part(inner, operator.end(), len(inner.text)), depth + 1)
        elif kind != "+":
            yield from (unknown,) if value is None else value

    def _refused(self, written: Piece) -> Iterator[Piece]:
        if not self.lenient:
            self.invalid.append(written.places.at(0))
        yield written
