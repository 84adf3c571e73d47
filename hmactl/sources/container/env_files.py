"""Files of variables, as the programs that read them do."""

import re
from collections.abc import Callable, Iterator

from hmactl.deployment.files import TextFile
from hmactl.deployment.setting import Origin
from hmactl.sources.process.word import Variable, Word

_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*[=:][ \t]*")
_NAME_ALONE = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(?:#[^\n]*)?\r?(?=\n|$)")
_QUOTED = {"'": re.compile(r"'([^']*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)}
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
    text, at = file.text, 0
    unclosed = set[str]()
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        match = _ASSIGNMENT.match(text, at, end)
        if match is None:
            alone = _NAME_ALONE.match(text, at)
            if alone is not None:
                origin = file.places.at(alone.start(1))
                if (variable := inherited(alone[1], origin)) is not None:
                    yield variable
            at = end + 1
            continue
        start = match.end()
        quote = text[start : start + 1]
        form = None if quote in unclosed else _QUOTED.get(quote)
        quoted = None if form is None else form.match(text, start)
        if quoted is None:
            # Where one has no end, there is none behind it either.
            unclosed.add(quote)
            value = _COMMENT.sub("", text[start:end].rstrip("\r")).strip()
        else:
            value, end = quoted[1], text.find("\n", quoted.end())
            end = len(text) if end < 0 else end
            if quote == '"':
                value = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), value)
        word = Word(value, file.places.at(start))
        origin = file.places.at(match.start(1))
        yield Variable(match[1], word if quote == "'" else expand(word), origin)
        at = end + 1
