"""Words of a Dockerfile: blanks separate, quotes group, variables are replaced.

This holds for ``ENV``, ``ARG``, ``FROM``, ``COPY`` and the like. What ``RUN``, ``CMD`` and
``ENTRYPOINT`` have behind them is left to the shell.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from hmactl.sources.braces import closing_braces
from hmactl.sources.budget import Budget
from hmactl.sources.runs import Runs, pointed
from hmactl.sources.shell.value import Piece, Value, known_text, part

Lookup = Callable[[str], Value | None]
"""A variable's value, None where nothing has set it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#!?]")
_OPERATOR = re.compile(r":?[-+?]")
_DEEPEST = 16


def split_words(text: Piece, escape: str) -> list[Piece]:
    """The words with their quotes."""
    words, start, quote, at = [], None, "", 0
    while at < len(text.text):
        character = text.text[at]
        if character in " \t\n" and not quote:
            if start is not None:
                words.append(part(text, start, at))
            start = None
            at += 1
            continue
        start = at if start is None else start
        if character == escape and quote != "'":
            at += 1
        elif character in "\"'":
            quote = "" if quote == character else quote or character
        at += 1
    if start is not None:
        words.append(part(text, start, len(text.text)))
    return words


def process_word(word: Piece, escape: str, lookup: Lookup, budget: Budget) -> Value:
    """The word without its quotes, its variables replaced."""
    return _Processing(escape, lookup, budget).run(word, 0)


def expanded(text: Piece, lookup: Lookup, budget: Budget) -> Value:
    """A text whose quotes stay, such as a here-document, its variables replaced."""
    processing = _Processing("\\", lookup, budget)
    runs, at, braces = Runs(), 0, closing_braces(text.text)
    while at < len(text.text):
        if text.text[at] == "\\" and text.text[at + 1 : at + 2] in {"$", "\\"}:
            runs.take(text, at + 1)
            at += 2
        elif text.text[at] == "$":
            at = processing.dollar(text, at, runs, 0, braces)
        else:
            runs.take(text, at)
            at += 1
    return runs.value()


class _Processing:
    def __init__(self, escape: str, lookup: Lookup, budget: Budget) -> None:
        self.escape = escape
        self.lookup = lookup
        self.budget = budget

    def run(self, word: Piece, depth: int) -> Value:
        runs, text, at, quote = Runs(), word.text, 0, ""
        braces = closing_braces(text)
        while at < len(text):
            character = text[at]
            if quote == "'" and character != "'":
                runs.take(word, at)
            elif character in {"'", '"'} and quote in {"", character}:
                quote = "" if quote else character
            elif character == self.escape and at + 1 < len(text):
                if quote and text[at + 1] not in {'"', "$", self.escape}:
                    runs.take(word, at)
                at += 1
                runs.take(word, at)
            elif character == "$":
                at = self.dollar(word, at, runs, depth, braces)
                continue
            else:
                runs.take(word, at)
            at += 1
        return runs.value()

    def dollar(
        self, word: Piece, at: int, runs: Runs, depth: int, braces: Mapping[int, int]
    ) -> int:
        """Add what the ``$`` at that offset comes to; the offset behind it."""
        text = word.text
        braced = text.startswith("${", at)
        name = _NAME.match(text, at + 1 + braced)
        end = name.end() if name is not None else at + 1
        if braced and name is not None:
            end = braces.get(at, -1) + 1
        if name is None or end == 0:
            runs.take(word, at)
            return at + 1
        written = part(word, at, end)
        inner = part(word, name.end(), end - 1) if braced else part(word, end, end)
        for piece in self.variable(name[0], written, inner, depth):
            runs.add(piece)
        return end

    def variable(self, name: str, written: Piece, form: Piece, depth: int) -> Iterator[Piece]:
        value = self.lookup(name)
        if value is not None and not self.budget.covers(value):
            value, form = None, part(form, 0, 0)
        unknown = Piece(written.text, pointed(written.places), False, (name,))
        operator = _OPERATOR.match(form.text)
        if not form.text or depth >= _DEEPEST:
            yield from (unknown,) if value is None else value
            return
        if operator is None:
            yield unknown
            return
        missing = value is None or (operator[0][0] == ":" and known_text(value) == "")
        kind = operator[0][-1]
        wanted = not missing if kind == "+" else missing and kind == "-"
        if wanted:
            yield from self.run(part(form, operator.end(), len(form.text)), depth + 1)
        elif kind != "+":
            yield from (unknown,) if value is None else value
