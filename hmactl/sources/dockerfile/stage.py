"""A stage of a Dockerfile: what its instructions make of the image below it."""

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hmactl.deployment.files import TextFile
from hmactl.deployment.setting import Origin
from hmactl.finding import Finding
from hmactl.sources.budget import Budget
from hmactl.sources.compose.split import lost_json
from hmactl.sources.container.mounts import Mount
from hmactl.sources.dockerfile import complaints
from hmactl.sources.dockerfile.instructions import HereDocument, Instruction
from hmactl.sources.dockerfile.pins import installed
from hmactl.sources.dockerfile.words import expanded, process_word, split_words
from hmactl.sources.image import versions
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.shell.value import Piece, Value, from_word, known_text, part, to_word

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_WRITES = (
    re.compile(r"(?:cat|tee)\s*<<-?\S+\s*>\s*(\S+)"),
    re.compile(r"(?:cat\s*>|tee)\s*(\S+)\s*<<-?\S+(?:\s*>\s*/dev/null)?"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """``CMD`` or ``ENTRYPOINT``. ``shell``: a text for the shell, which is all of ``words``."""

    words: tuple[Word, ...]
    shell: bool
    origin: Origin


@dataclass(slots=True)
class Stage:
    """The image as it is after the instructions so far; ``given`` are arguments of the build."""

    image: Word | None
    escape: str
    given: Mapping[str, Word]
    environment: dict[str, Variable] = field(default_factory=dict)
    arguments: dict[str, Value] = field(default_factory=dict)
    entrypoint: Command | None = None
    command: Command | None = None
    own_command: bool = False
    interpreter: tuple[str, ...] = ("/bin/sh", "-c")
    working: str = "/"
    mounts: list[Mount] = field(default_factory=list)
    files: list[TextFile] = field(default_factory=list)
    vllm: str | None = None
    lmcache: str | None = None
    findings: list[Finding] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    def apply(self, instruction: Instruction) -> None:
        """What one instruction changes."""
        actions: dict[str, Callable[[Instruction], None]] = {
            "ENV": self._env,
            "ARG": self._arg,
            "SHELL": self._shell,
            "WORKDIR": self._workdir,
            "CMD": self._cmd,
            "ENTRYPOINT": self._entrypoint,
            "RUN": self._run,
            "COPY": self._copy,
            "ADD": self._copy,
        }
        if (action := actions.get(instruction.keyword)) is not None:
            action(instruction)

    def on_top(self) -> "Stage":
        """A stage that begins with this one's image."""
        return replace(
            self,
            environment=dict(self.environment),
            arguments={},
            own_command=False,
            mounts=[*self.mounts],
            files=[*self.files],
            findings=[*self.findings],
        )

    def lookup(self, name: str) -> Value | None:
        """A variable while the image is built."""
        if name in self.environment:
            return from_word(self.environment[name].value)
        return self.arguments.get(name)

    def word(self, piece: Piece) -> Word:
        """One of Docker's words, without quotes."""
        value = process_word(piece, self.escape, self.lookup, self.budget)
        return to_word(value, piece.places)

    def _env(self, instruction: Instruction) -> None:
        words = split_words(instruction.rest, self.escape)
        if words and "=" not in words[0].text:
            name, start = words[0].text, len(words[0].text)
            blanks = len(instruction.rest.text[start:]) - len(
                instruction.rest.text[start:].lstrip()
            )
            rest = part(instruction.rest, start + blanks, len(instruction.rest.text))
            self._set(name, words[0], rest)
            return
        # What one line sets is not seen by the other variables of the line.
        found = [(w.text.partition("=")[0], w) for w in words if "=" in w.text]
        values = [part(w, len(name) + 1, len(w.text)) for name, w in found]
        before = dict(self.environment)
        for (name, piece), value in zip(found, values, strict=True):
            now, self.environment = self.environment, before
            word = self.word(value)
            self.environment = now
            self._keep(name, piece, word)

    def _set(self, name: str, piece: Piece, value: Piece) -> None:
        self._keep(name, piece, self.word(value))

    def _keep(self, name: str, piece: Piece, value: Word) -> None:
        if _NAME.fullmatch(name) is None:
            return
        origin = piece.places.at(0)
        if '"' in piece.text and lost_json(value.text):
            self.findings.append(complaints.lost_quotes(value.origin))
            value = replace(value, known=False)
        self.environment[name] = Variable(name, value, origin)

    def _arg(self, instruction: Instruction) -> None:
        for piece in split_words(instruction.rest, self.escape):
            name, equals, _ = piece.text.partition("=")
            if name in self.given:
                self.arguments[name] = from_word(self.given[name])
            elif equals:
                value = part(piece, len(name) + 1, len(piece.text))
                self.arguments[name] = process_word(value, self.escape, self.lookup, self.budget)

    def _shell(self, instruction: Instruction) -> None:
        words = exec_form(instruction.rest)
        if words:
            self.interpreter = tuple(word.text for word in words)

    def _workdir(self, instruction: Instruction) -> None:
        word = self.word(instruction.rest)
        if word.known and word.text:
            self.working = posixpath.normpath(posixpath.join(self.working, word.text))

    def _cmd(self, instruction: Instruction) -> None:
        self.command, self.own_command = self._command(instruction), True

    def _entrypoint(self, instruction: Instruction) -> None:
        self.entrypoint = self._command(instruction)
        if not self.own_command:
            self.command = None

    def _command(self, instruction: Instruction) -> Command:
        rest = instruction.rest
        origin = rest.places.at(0)
        words = exec_form(rest) if rest.text else ()
        if words is None:
            self.findings += complaints.no_json(rest.text, origin, instruction.keyword)
            text = Word(rest.text, origin, places=rest.places)
            return Command((text,), True, origin)
        return Command(words, False, origin)

    def _run(self, instruction: Instruction) -> None:
        texts = [instruction.rest.text, *(d.text.text for d in instruction.documents)]
        for text in texts:
            for name, version in installed(_VARIABLE.sub(self._as_known, text)):
                setattr(self, name, version)
        if len(instruction.documents) == 1:
            document = instruction.documents[0]
            command = instruction.rest.text.strip()
            for form in _WRITES:
                if (match := form.fullmatch(command)) is not None:
                    self._add_file(match[1].strip("\"'"), document)

    def _as_known(self, match: re.Match[str]) -> str:
        value = self.lookup(match[1] or match[2])
        text = None if value is None else known_text(value)
        return match[0] if text is None else text

    def _copy(self, instruction: Instruction) -> None:
        words = exec_form(instruction.rest)
        pieces = split_words(instruction.rest, self.escape)
        if words is None:
            words = tuple(self.word(piece) for piece in pieces)
        options = {w.text.partition("=")[0] for w in words if w.text.startswith("--")}
        paths = [word for word in words if not word.text.startswith("--")]
        if "--from" in options or len(paths) < 2 or not all(w.known for w in paths):
            return
        target = posixpath.join(self.working, paths[-1].text)
        inside = paths[-1].text.endswith(("/", ".")) or len(paths) > 2
        documents = {document.name: document for document in instruction.documents}
        for word in paths[:-1]:
            name = word.text.removeprefix("<<").removeprefix("-").strip("\"'")
            if word.text.startswith("<<"):
                if name in documents:
                    path = posixpath.join(target, name) if inside else target
                    self._add_file(path, documents[name])
                continue
            base = posixpath.basename(word.text.rstrip("/"))
            if base not in {"", "."}:
                self.mounts.append(Mount(word.text, posixpath.join(target, base)))
            self.mounts.append(Mount(word.text, posixpath.normpath(target)))

    def _add_file(self, path: str, document: HereDocument) -> None:
        path = posixpath.normpath(posixpath.join(self.working, path))
        value = (
            (document.text,)
            if document.quoted
            else expanded(document.text, self.lookup, self.budget)
        )
        word = to_word(value, document.text.places)
        if word.known:
            self.files.append(TextFile(path, word.text, word.where()))


def exec_form(rest: Piece) -> tuple[Word, ...] | None:
    """The words of a JSON list, each in its place; None where it is none."""
    try:
        items = json.loads(rest.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    return tuple(_items(rest, items))


def _items(rest: Piece, items: list[str]) -> Iterator[Word]:
    at = 0
    for item in items:
        start = rest.text.index('"', at)
        at = _end_of_string(rest.text, start)
        written = rest.text[start + 1 : at - 1]
        piece = part(rest, start + 1, at - 1)
        if written == item:
            yield Word(item, piece.places.at(0), places=piece.places)
        else:
            yield Word(item, rest.places.at(start + 1))


def _end_of_string(text: str, start: int) -> int:
    """The offset behind a JSON string that begins at that one."""
    at = start + 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def first_stage(image: Word, escape: str, given: Mapping[str, Word], budget: Budget) -> Stage:
    """A stage whose image is none of the file's own."""
    vllm, lmcache = versions(image.text) if image.known else (None, None)
    return Stage(image, escape, given, vllm=vllm, lmcache=lmcache, budget=budget)
