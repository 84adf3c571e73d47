"""The files that ``EnvironmentFile=`` names, as systemd reads them."""

import re
from collections.abc import Iterator

from hmactl.deployment.files import TextFile
from hmactl.sources.process.word import Variable, Word

_ASSIGNMENT = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_IN_DOUBLE_QUOTES = '"\\`$'


def environment_file(file: TextFile) -> Iterator[Variable]:
    """Its variables. Quotes group, a backslash takes the next character as it is and joins lines,
    and nothing is expanded; ``#`` and ``;`` begin a comment only at the start of a line."""
    text, at = file.text, 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        match = _ASSIGNMENT.match(text, at, end)
        if match is None:
            at = end + 1
            continue
        value, at = _value(text, match.end())
        word = Word(value, file.places.at(match.end()))
        yield Variable(match[1], word, file.places.at(match.start(1)))


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins at that offset, and the offset of what comes behind it."""
    made, quote, kept = list[str](), "", 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "\n" and not quote:
            break
        if character in "\"'" and quote in {"", character}:
            quote = "" if quote else character
            kept = len(made)
        elif character == "\\" and quote != "'" and at < len(text):
            keeps = quote == '"' and text[at] not in _IN_DOUBLE_QUOTES + "\n"
            if keeps:
                made.append("\\")
            if text[at] != "\n":
                made.append(text[at])
            at += 1
            kept = len(made)
        else:
            made.append(character)
            kept = len(made) if quote or not character.isspace() else kept
    return "".join(made[:kept]), at
