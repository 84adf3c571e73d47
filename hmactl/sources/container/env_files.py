"""Files of variables, as the programs that read them do."""

import re
from collections.abc import Callable, Iterator

from hmactl.deployment.files import TextFile
from hmactl.deployment.setting import Origin
from hmactl.sources.process.word import Variable, Word

_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*[=:][ \t]*")
_NAME_ALONE = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def docker_env_file(
    file: TextFile, inherited: Callable[[str, Origin], Variable | None]
) -> Iterator[Variable]:
    """The variables of ``docker run --env-file``, which keeps quotes and all else as it stands.

    A name without a value is taken from where the command runs, which ``inherited`` knows.
    """
    for number, line in enumerate(file.text.split("\n"), start=1):
        kept = line.removesuffix("\r").lstrip()
        if not kept or kept.startswith("#"):
            continue
        column = len(line) - len(line.lstrip()) + 1
        name, equals, value = kept.partition("=")
        origin = file.place(number, column)
        if not equals:
            if (variable := inherited(name.strip(), origin)) is not None:
                yield variable
            continue
        place = file.place(number, column + len(name) + 1)
        yield Variable(name, Word(value, place), origin)


def dotenv(
    file: TextFile,
    inherited: Callable[[str, Origin], Variable | None],
    expand: Callable[[Word], Word],
) -> Iterator[Variable]:
    """The variables of a ``.env`` file or an ``env_file`` of Compose.

    Quotes group and are removed, ``#`` behind a blank begins a comment, and ``expand`` replaces the
    variables in what does not stand in single quotes. A line that is none of that is passed over.
    """
    lines = file.text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number].rstrip("\r")
        number += 1
        match = _ASSIGNMENT.match(line)
        if match is None:
            if (alone := _NAME_ALONE.fullmatch(line)) is not None:
                origin = file.place(number, alone.start(1) + 1)
                if (variable := inherited(alone[1], origin)) is not None:
                    yield variable
            continue
        rest, place = line[match.end() :], file.place(number, match.end() + 1)
        quote = rest[:1]
        if quote in {"'", '"'}:
            while _end_of_quote(rest, quote) is None and number < len(lines):
                rest += "\n" + lines[number].rstrip("\r")
                number += 1
            rest = rest[1 : _end_of_quote(rest, quote)]
            if quote == '"':
                rest = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), rest)
        else:
            rest = _COMMENT.sub("", rest).strip()
        value = Word(rest, place)
        origin = file.place(number, match.start(1) + 1)
        yield Variable(match[1], value if quote == "'" else expand(value), origin)


def _end_of_quote(text: str, quote: str) -> int | None:
    at = 1
    while at < len(text):
        if text[at] == quote:
            return at
        at += 2 if text[at] == "\\" and quote == '"' else 1
    return None
