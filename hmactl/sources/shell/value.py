"""What a shell makes of words: pieces of text, each with its places and whether it is known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hmactl.deployment.places import Places, Stretch, places_of_point
from hmactl.sources.process.word import Word


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word; where it is not ``known``, ``text`` is as written and ``needs`` are the
    names of the variables that are missing. ``splits``: blanks in it separate words."""

    text: str
    places: Places
    known: bool = True
    needs: tuple[str, ...] = ()
    splits: bool = False


Value: TypeAlias = tuple[Piece, ...]
"""The value of a variable, or one word."""


def known_text(value: Iterable[Piece]) -> str | None:
    """The text, or None where a part of it is not known."""
    pieces = tuple(value)
    return "".join(p.text for p in pieces) if all(p.known for p in pieces) else None


def constant(text: str, places: Places) -> Value:
    """A value that is known, standing at those places."""
    return (Piece(text, places),)


def part(piece: Piece, start: int, end: int) -> Piece:
    """The characters of a piece from ``start`` to ``end``."""
    return replace(piece, text=piece.text[start:end], places=piece.places.between(start, end))


def to_word(value: Sequence[Piece], place: Places) -> Word:
    """A word of a command; ``place`` is where it stands if it has no characters."""
    stretches: list[Stretch] = []
    length = 0
    for piece in value:
        stretches += [s._replace(offset=s.offset + length) for s in piece.places.stretches]
        length += len(piece.text)
    source = value[0].places.source if value else place.source
    places = Places(source, tuple(stretches)) if stretches else place
    needs = tuple(dict.fromkeys(need for piece in value for need in piece.needs))
    return Word(
        "".join(piece.text for piece in value),
        places.at(0),
        known=all(piece.known for piece in value),
        needs=needs,
        several=any(piece.splits and not piece.known for piece in value),
        places=places,
    )


def from_word(word: Word) -> Value:
    """A word or a variable of another form's, as a shell has it."""
    places = word.places or places_of_point(word.origin)
    return (Piece(word.text, places, word.known, word.needs),)


def joined(words: Iterable[Value]) -> Value:
    """Words with a blank between them, as ``echo`` and ``eval`` put them together."""
    pieces: list[Piece] = []
    for word in words:
        if pieces and word:
            pieces.append(Piece(" ", word[0].places))
        pieces += word
    return tuple(pieces)
