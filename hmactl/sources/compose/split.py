"""A command that is one string, split into words as Compose does.

Compose uses github.com/mattn/go-shellwords: quotes group, a backslash takes the next character as
it is (inside of double quotes too, and a line's end like any other), a `;`, `&`, `|`, `<` or `>`
outside of quotes ends the command, and nothing is expanded.
"""

import re
from dataclasses import dataclass

from hmactl.deployment.setting import Origin
from hmactl.sources.process.word import Word
from hmactl.sources.runs import Runs
from hmactl.sources.shell.value import Piece, Value, known_text, to_word

_BLANKS = " \t\r\n"
_ENDS = ";&|<>"
_ESCAPES = {"t": "\t", "n": "\n"}
_OF_JSON = re.compile(r"\s*(?:[\w.-]+=)?\s*[{\[]\s*[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class SplitCommand:
    """``ended`` is the place of a character that ended the command, ``continued`` of a backslash
    at a line's end, behind which the words are those that it was to join, ``unquoted`` of words
    that lost quotes which JSON needs. ``refused``: Compose finds no end of a quote, or a bracket
    that it does not take."""

    words: tuple[Word, ...]
    ended: Origin | None = None
    continued: tuple[Origin, ...] = ()
    unquoted: tuple[Origin, ...] = ()
    refused: Origin | None = None


def split_command(text: Value) -> SplitCommand:
    """The words of a command, whose variables have been replaced."""
    splitting = _Splitting()
    for piece in text:
        if not piece.known:
            splitting.take_unknown(piece)
            continue
        for at in range(len(piece.text)):
            splitting.take(piece, at)
            if splitting.stopped:
                return splitting.result()
    splitting.finish()
    return splitting.result()


def lost_json(text: str | None) -> bool:
    """Whether what is left of a word is JSON without its quotes."""
    return text is not None and '"' not in text and _OF_JSON.match(text) is not None


class _Splitting:
    def __init__(self) -> None:
        self.words: list[Word] = []
        self.continued: list[Origin] = []
        self.unquoted: list[Origin] = []
        self.ended: Origin | None = None
        self.refused: Origin | None = None
        self.quote = self.previous = ""
        self.opened: Origin | None = None
        self.escape: tuple[Piece, int] | None = None
        self.start_word()

    def start_word(self) -> None:
        self.runs = Runs()
        self.begun: tuple[Piece, int] | None = None
        self.bare = self.quoted_behind = False

    @property
    def stopped(self) -> bool:
        return self.ended is not None or self.refused is not None

    def result(self) -> SplitCommand:
        return SplitCommand(
            tuple(self.words),
            self.ended,
            tuple(self.continued),
            tuple(self.unquoted),
            self.refused,
        )

    def take_unknown(self, piece: Piece) -> None:
        self.begun = self.begun or (piece, 0)
        splits = not self.quote
        self.runs.add(Piece(piece.text, piece.places, False, piece.needs, splits))

    def take(self, piece: Piece, at: int) -> None:
        previous, self.previous = self.previous, piece.text[at]
        character = piece.text[at]
        if self.escape is not None:
            self.take_escaped(piece, at)
        elif character == "\\" and self.quote not in {"'", ")"}:
            self.escape = (piece, at)
        elif character in _BLANKS and not self.quote:
            self.end_word()
        elif character in "\"'" and self.quote in {"", character}:
            self.take_quote(piece, at)
        elif not self.quote and character in _ENDS:
            self.end_word()
            self.ended = piece.places.at(at)
        elif character in "()" and self.quote in {"", ")"}:
            self.take_bracket(piece, at, previous)
        else:
            self.begun = self.begun or (piece, at)
            self.bare |= not self.quote
            self.runs.take(piece, at)

    def take_escaped(self, piece: Piece, at: int) -> None:
        backslash = self.escape or (piece, at)
        self.begun, self.escape = self.begun or backslash, None
        character = piece.text[at]
        # In a folded block the end of the line is a blank, which does no harm inside of quotes.
        folded = character == " " and not self.quote and _ends_a_line(*backslash)
        if character in "\r\n" or folded:
            # What is meant is read; that it does not come to that is said once.
            self.continued.append(backslash[0].places.at(backslash[1]))
            if self.quote:
                self.runs.take(*backslash)
                self.runs.take(piece, at)
            elif self.begun is backslash:
                self.start_word()
            else:
                self.end_word()
            return
        written = _ESCAPES.get(character)
        if written is None:
            self.runs.take(piece, at)
        else:
            self.runs.add_text(written, piece.places.between(at, at + 1))

    def take_quote(self, piece: Piece, at: int) -> None:
        self.begun = self.begun or (piece, at)
        if self.quote:
            self.quote = ""
            return
        self.quote, self.opened = piece.text[at], piece.places.at(at)
        self.quoted_behind |= self.bare and self.quote == '"'

    def take_bracket(self, piece: Piece, at: int, previous: str) -> None:
        """``$(`` goes on to its ``)``; any other bracket is refused."""
        if piece.text[at] == "(" and not self.quote and previous == "$":
            self.quote, self.opened = ")", piece.places.at(at)
        elif piece.text[at] == ")" and self.quote:
            self.quote = ""
        elif not self.quote:
            self.refused = piece.places.at(at)
            return
        self.runs.take(piece, at)

    def end_word(self) -> None:
        if self.begun is not None:
            value, (piece, at) = self.runs.value(), self.begun
            word = to_word(value, piece.places.between(at, at))
            if self.quoted_behind and lost_json(known_text(value)):
                self.unquoted.append(word.origin)
                word = Word(word.text, word.origin, known=False)
            self.words.append(word)
        self.start_word()

    def finish(self) -> None:
        if self.escape is not None:
            self.refused = self.escape[0].places.at(self.escape[1])
        elif self.quote:
            self.refused = self.opened
        else:
            self.end_word()


def _ends_a_line(piece: Piece, at: int) -> bool:
    """Whether what is behind the next character stands on another line of the file."""
    if at + 2 >= len(piece.text):
        return False
    return (piece.places.at(at).line or 0) < (piece.places.at(at + 2).line or 0)
