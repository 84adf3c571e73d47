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
    lines = file.text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number].rstrip("\r")
        number += 1
        match = _ASSIGNMENT.match(line)
        if match is None or line.lstrip().startswith(("#", ";")):
            continue
        first, rest = number, line[match.end() :]
        while (value := _value(rest)) is None and number < len(lines):
            rest += "\n" + lines[number].rstrip("\r")
            number += 1
        if value is None:
            return
        place = file.place(first, match.end() + 1)
        origin = file.place(first, match.start(1) + 1)
        yield Variable(match[1], Word(value, place), origin)


def _value(text: str) -> str | None:
    """The value that a text stands for; None where it goes on in the next line."""
    made, quote, at, kept = "", "", 0, 0
    while at < len(text):
        character = text[at]
        if character in "\"'" and quote in {"", character}:
            quote = "" if quote else character
            kept = len(made)
        elif character == "\\" and quote != "'":
            if at + 1 == len(text):
                return None
            at += 1
            if text[at] != "\n":
                keeps = quote == '"' and text[at] not in _IN_DOUBLE_QUOTES
                made += "\\" + text[at] if keeps else text[at]
            kept = len(made)
        else:
            made += character
            kept = len(made) if quote or not character.isspace() else kept
        at += 1
    return None if quote else made[:kept]
