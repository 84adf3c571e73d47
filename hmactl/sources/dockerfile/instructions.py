"""A Dockerfile's text as instructions: lines joined, comments left out, here-documents apart."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from hmactl.deployment.places import Places, Stretch
from hmactl.sources.shell.value import Piece, part

_DIRECTIVE = re.compile(r"#\s*([A-Za-z]+)\s*=\s*(\S+)\s*")
_KEYWORD = re.compile(r"\s*([A-Za-z]+)(?:[ \t]+|$)")
_HERE = re.compile(r"<<(-?)([\"']?)([A-Za-z_]\w*)\2")
_MOST = 5000
_WITH_DOCUMENTS = frozenset({"RUN", "COPY", "ADD"})


@dataclass(frozen=True, slots=True)
class HereDocument:
    """``quoted``: its text is taken as it stands, and no variable in it is replaced."""

    name: str
    text: Piece
    quoted: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """``keyword`` in upper case; ``rest`` is what stands behind it, its lines joined."""

    keyword: str
    rest: Piece
    documents: tuple[HereDocument, ...] = ()


@dataclass(frozen=True, slots=True)
class Instructions:
    """``escape`` is the character that joins lines and takes the next one as it is."""

    all: tuple[Instruction, ...]
    escape: str


def read_instructions(source: str, text: str) -> Instructions:
    """The instructions in their order, at most 5,000; never raises, whatever the text."""
    lines = text.split("\n")
    escape = _escape(lines)
    return Instructions(tuple(islice(_Lines(source, lines, escape), _MOST)), escape)


def _escape(lines: list[str]) -> str:
    for line in lines:
        directive = _DIRECTIVE.fullmatch(line.strip())
        if directive is None:
            break
        if directive[1].lower() == "escape" and directive[2] in {"\\", "`"}:
            return directive[2]
    return "\\"


class _Lines:
    def __init__(self, source: str, lines: list[str], escape: str) -> None:
        self.source = source
        self.lines = lines
        self.at = 0
        # One that is itself escaped joins nothing.
        mark = re.escape(escape)
        self.endless: set[tuple[str, bool]] = set()
        self.joins = re.compile(rf"(?:^|(?<!{mark})){mark}[ \t]*$")

    def __iter__(self) -> Iterator[Instruction]:
        while self.at < len(self.lines):
            if _is_left_out(self.lines[self.at]):
                self.at += 1
                continue
            joined = self.joined()
            keyword = _KEYWORD.match(joined.text)
            if keyword is None:
                continue
            name = keyword[1].upper()
            rest = part(joined, keyword.end(), len(joined.text))
            documents = self.documents(rest) if name in _WITH_DOCUMENTS else ()
            yield Instruction(name, rest, documents)

    def joined(self) -> Piece:
        """The line here with those that it is joined with."""
        text, stretches = "", []
        while self.at < len(self.lines):
            number, line = self.at + 1, self.lines[self.at].rstrip("\r")
            self.at += 1
            if text and _is_left_out(line):
                continue
            end = self.joins.search(line)
            stretches.append(Stretch(len(text), number, 1))
            text += line if end is None else line[: end.start()]
            if end is None:
                break
        return Piece(text.rstrip(), Places(self.source, tuple(stretches)))

    def documents(self, rest: Piece) -> tuple[HereDocument, ...]:
        """The here-documents that an instruction names, which follow its line."""
        found = []
        for match in _HERE.finditer(rest.text):
            strips, name = bool(match[1]), match[3]
            end = self.end_of(name, strips=strips)
            if end is None:
                break
            found.append(HereDocument(name, self.document(end, strips=strips), bool(match[2])))
            self.at = end + 1
        return tuple(found)

    def end_of(self, name: str, *, strips: bool) -> int | None:
        """The line that ends a here-document. One that is not found is looked for once."""
        if (name, strips) in self.endless:
            return None
        for index in range(self.at, len(self.lines)):
            if _ends(self.lines[index], name, strips=strips):
                return index
        self.endless.add((name, strips))
        return None

    def document(self, end: int, *, strips: bool) -> Piece:
        text, stretches = "", [Stretch(0, self.at + 1, 1)]
        for index in range(self.at, end):
            line = self.lines[index].rstrip("\r")
            kept = line.lstrip("\t") if strips else line
            if text or not stretches:
                stretches.append(Stretch(len(text), index + 1, len(line) - len(kept) + 1))
            else:
                stretches = [Stretch(0, index + 1, len(line) - len(kept) + 1)]
            text += kept + "\n"
        return Piece(text, Places(self.source, tuple(stretches)))


def _is_left_out(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped.startswith("#")


def _ends(line: str, name: str, *, strips: bool) -> bool:
    line = line.rstrip("\r")
    return (line.lstrip("\t") if strips else line) == name
