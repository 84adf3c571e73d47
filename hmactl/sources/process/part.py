"""A part of a word, in its own place."""

from dataclasses import replace

from hmactl.sources.process.word import Word


def part(word: Word, start: int, end: int | None = None) -> Word:
    """The characters of a word from ``start`` to ``end``."""
    text = word.text[start:end]
    if word.places is None:
        return replace(word, text=text)
    return replace(
        word,
        text=text,
        origin=word.places.at(start),
        places=word.places.between(start, start + len(text)),
    )
