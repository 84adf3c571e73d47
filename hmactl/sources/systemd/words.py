"""Words as systemd makes them: quotes group, escapes are those of C, specifiers are replaced.

Quotes count anywhere in a word, and escapes inside of both kinds of quotes.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hmactl.deployment.setting import Origin
from hmactl.sources.budget import Budget
from hmactl.sources.compose.split import lost_json
from hmactl.sources.process.word import Word
from hmactl.sources.runs import Runs, pointed
from hmactl.sources.shell.value import Piece, Value, from_word, known_text, part, to_word

Lookup = Callable[[str], Word | None]
"""A variable of the unit's environment, None where nothing is known of it."""

_SPECIFIER = re.compile(r"%([%A-Za-z])")
_ESCAPE = re.compile(r"x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|[abfnrtvs\\\"']")
_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "s": " ",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_ALONE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_DOLLAR = re.compile(r"\$(?:\$|\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class UnitWord:
    """``lost``: the word was JSON, and its quotes were taken for systemd's own."""

    value: Value
    place: Origin
    lost: bool = False

    @property
    def text(self) -> str:
        """The text, with what is not known as it is written."""
        return "".join(piece.text for piece in self.value)

    def word(self) -> Word:
        """The word as it stands."""
        where = pointed(self.value[0].places) if self.value else None
        if where is None:
            return Word("", self.place)
        return to_word(self.value, self.value[0].places)


def unit_words(value: Piece) -> list[UnitWord]:
    """The words of a setting's value, before variables are replaced."""
    return list(_words(value, specifiers=True))


def replaced(word: UnitWord, lookup: Lookup, budget: Budget) -> Iterator[Word]:
    """What a word of ``ExecStart`` comes to: ``$NAME`` by itself any number of words, ``${NAME}``
    a part of one."""
    alone = _ALONE.fullmatch(word.text)
    if alone is not None:
        value = lookup(alone[1])
        if value is not None and not budget.covers(from_word(value)):
            value = None
        if value is None or not value.known:
            needs = (alone[1],) if value is None else value.needs
            yield Word(word.text, word.place, False, needs, several=True)
            return
        places = value.where()
        for each in _words(Piece(value.text, places), specifiers=False):
            yield each.word()
        return
    runs = Runs()
    for piece in word.value:
        if not piece.known:
            runs.add(piece)
            continue
        at = 0
        for match in _DOLLAR.finditer(piece.text):
            _take(runs, piece, at, match.start())
            at = match.end()
            written = part(piece, match.start(), at)
            if match[0] == "$$":
                runs.take(piece, match.start())
            elif match[1] is None or _NAME.fullmatch(match[1]) is None:
                runs.add(written)
            elif (value := lookup(match[1])) is None or not budget.covers(from_word(value)):
                runs.add(Piece(written.text, pointed(written.places), False, (match[1],)))
            else:
                for one in from_word(value):
                    runs.add(one)
        _take(runs, piece, at, len(piece.text))
    yield UnitWord(runs.value(), word.place).word()


def not_replaced(word: UnitWord) -> str | None:
    """A variable in the word that systemd leaves as it stands."""
    if _ALONE.fullmatch(word.text):
        return None
    for match in _DOLLAR.finditer(word.text):
        if match[2] is not None:
            return match[0]
        if match[1] is not None and _NAME.match(match[1]) and not _NAME.fullmatch(match[1]):
            return match[0]
    return None


def _take(runs: Runs, piece: Piece, start: int, end: int) -> None:
    for at in range(start, end):
        runs.take(piece, at)


def _words(value: Piece, *, specifiers: bool) -> Iterator[UnitWord]:
    text, at = value.text, 0
    runs, begun, quote, bare, quoted_behind = Runs(), -1, "", False, False
    while at <= len(text):
        character = text[at] if at < len(text) else ""
        if not character or (character in " \t\n\r" and not quote):
            if begun >= 0:
                made = runs.value()
                lost = quoted_behind and lost_json(known_text(made))
                yield UnitWord(made, value.places.at(begun), lost)
            runs, begun, bare, quoted_behind = Runs(), -1, False, False
            at += 1
            continue
        begun = at if begun < 0 else begun
        if character in "\"'" and quote in {"", character}:
            quoted_behind |= not quote and bare and character == '"'
            quote = "" if quote else character
        elif character == "\\" and (escape := _ESCAPE.match(text, at + 1)) is not None:
            runs.add_text(_character(escape[0]), value.places.between(at, at + 1))
            at = escape.end()
            continue
        elif specifiers and (specifier := _SPECIFIER.match(text, at)) is not None:
            if specifier[1] == "%":
                runs.take(value, at)
            else:
                written = part(value, at, at + 2)
                runs.add(Piece(written.text, written.places, known=False))
            at += 2
            bare |= not quote
            continue
        else:
            bare |= not quote
            runs.take(value, at)
        at += 1


def _character(escape: str) -> str:
    if escape in _CHARACTERS:
        return _CHARACTERS[escape]
    return chr(int(escape, 8) if escape[0] not in "xu" else int(escape[1:], 16))
