"""A unit of systemd in, the processes that it starts out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from hmactl.deployment.deployment import Target
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area, Unknown
from hmactl.finding import Finding
from hmactl.sources.budget import Budget
from hmactl.sources.container.docker_run import docker_run
from hmactl.sources.container.sizes import container_size, lock_limit
from hmactl.sources.given import Given
from hmactl.sources.process.part import part
from hmactl.sources.process.process import Process
from hmactl.sources.process.program import find_command
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.shell.value import Piece
from hmactl.sources.systemd import complaints
from hmactl.sources.systemd.env_file import environment_file
from hmactl.sources.systemd.unit import UnitSetting, read_unit
from hmactl.sources.systemd.words import UnitWord, not_replaced, replaced, unit_words

_PREFIXES = "@-:+!|"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
_OF_A_SHELL = re.compile(r"&&|\|\|?|&|\d?>>?(?:&\d|\S+)?|<|</\S*")
_BUILTINS = frozenset({"cd", "source", "export", ".", "exec", "set"})
# What Podman makes of the settings of a container's unit.
_OPTIONS = {
    "AddDevice": "--device",
    "ContainerName": "--name",
    "Entrypoint": "--entrypoint",
    "EnvironmentFile": "--env-file",
    "Memory": "--memory",
    "Mount": "--mount",
    "ShmSize": "--shm-size",
    "Tmpfs": "--tmpfs",
    "Ulimit": "--ulimit",
    "Volume": "--volume",
}


def read_systemd(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """What a service starts; of a ``.container`` unit, what its container starts."""
    unit = _Unit(source, read_unit(source, text), given)
    return (*unit.services(), *unit.containers())


@dataclass(slots=True)
class _Unit:
    source: str
    settings: tuple[UnitSetting, ...]
    given: Given
    unknown: list[Unknown] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    def all(self, key: str, section: str = "Service") -> list[Piece]:
        """The values of a setting; an empty one takes back those before it."""
        found: list[Piece] = []
        for setting in self.settings:
            if setting.section == section and setting.key == key:
                found = [*found, setting.value] if setting.value.text else []
        return found

    def last(self, key: str, section: str = "Service") -> str | None:
        values = self.all(key, section)
        return values[-1].text if values else None

    def services(self) -> Iterator[Process]:
        commands = self.all("ExecStart")
        if not commands:
            return
        environment = tuple(self.environment())
        variables = {v.name: v.value for v in environment}
        before = [*self.findings]
        for command in commands:
            self.findings = [*before]
            argv = self.argv(command, variables)
            yield Process(
                source=self.source,
                form=Form.SYSTEMD,
                name=self.name(),
                argv=argv,
                environment=environment,
                unknown=tuple(self.unknown),
                target=self.target(),
                findings=tuple(self.findings),
            )

    def name(self) -> str:
        return "stdin" if self.source == "-" else PurePath(self.source).stem

    def target(self) -> Target:
        memory = self.last("MemoryMax") or self.last("MemoryLimit")
        memlock = self.last("LimitMEMLOCK")
        return Target(
            memory_limit=None if memory is None else container_size(memory),
            memlock=None if memlock is None else _limit(memlock),
        )

    def environment(self) -> Iterator[Variable]:
        """The unit's own variables, then those of its files, which replace them."""
        gone = {name for value in self.all("UnsetEnvironment") for name in value.text.split()}
        for value in self.all("Environment"):
            for word in unit_words(value):
                if (variable := self.assignment(word)) is not None and variable.name not in gone:
                    yield variable
        for value in self.all("PassEnvironment"):
            for word in unit_words(value):
                given = self.given.variables.get(word.text)
                unknown = Word(f"${word.text}", word.place, False, (word.text,))
                yield Variable(word.text, given or unknown, word.place)
        for value in self.all("EnvironmentFile"):
            path = value.text.removeprefix("-")
            file = None if "%" in path or "*" in path else self.given.read_file(path)
            if file is None:
                what = f"EnvironmentFile={value.text}"
                self.unknown.append(Unknown(Area.ENV, None, what, value.places.at(0)))
                continue
            yield from (v for v in environment_file(file) if v.name not in gone)

    def assignment(self, word: UnitWord) -> Variable | None:
        text = word.text
        if _ASSIGNMENT.match(text) is None:
            return None
        made = word.word()
        name = text.partition("=")[0]
        value = part(made, len(name) + 1)
        if word.lost:
            self.findings.append(complaints.lost_quotes(word.place))
            value = replace(value, known=False)
        elif (match := _VARIABLE.search(value.text)) is not None:
            self.findings.append(complaints.literal_dollar(match[0], word.place))
        return Variable(name, value, made.origin)

    def lookup(self, variables: dict[str, Word], name: str) -> Word | None:
        return variables.get(name) or self.given.variables.get(name)

    def argv(self, command: Piece, variables: dict[str, Word]) -> tuple[Word, ...]:
        words = unit_words(command)
        if not words:
            return ()
        program = words[0].text
        prefixes = program[: len(program) - len(program.lstrip(_PREFIXES))]
        first = part(words[0].word(), len(prefixes))
        expands = ":" not in prefixes
        rest = words[2:] if "@" in prefixes else words[1:]
        argv = [self.program(first)]
        for word in rest:
            if word.lost:
                self.findings.append(complaints.lost_quotes(word.place))
                argv.append(replace(word.word(), known=False))
            elif not expands:
                argv.append(word.word())
            else:
                if (written := not_replaced(word)) is not None and not _is_script(argv):
                    self.findings.append(complaints.not_replaced(written, word.place))
                argv += replaced(word, lambda name: self.lookup(variables, name), self.budget)
        return self.without_shell(argv)

    def program(self, word: Word) -> Word:
        """The program. Where only its directory is not known, it is known what it is."""
        text = word.text
        if "/" in text and not text.startswith(("/", "%")):
            self.findings.append(complaints.no_path(text, word.origin))
        return word if "%" in text.rpartition("/")[2] else replace(word, known=True)

    def without_shell(self, argv: list[Word]) -> tuple[Word, ...]:
        """The words up to the first that only a shell would understand."""
        if _ASSIGNMENT.match(argv[0].text) or argv[0].text in _BUILTINS:
            self.findings.append(complaints.no_shell(argv[0].text, argv[0].origin))
        for at, word in enumerate(argv):
            if at and word.known and _OF_A_SHELL.fullmatch(word.text):
                self.findings.append(complaints.no_shell(word.text, word.origin))
                before = tuple(argv[:at])
                return before if find_command(before) is not None else tuple(argv)
        return tuple(argv)

    def containers(self) -> Iterator[Process]:
        """Podman's unit for a container, which becomes a ``podman run``."""
        images = self.all("Image", "Container")
        if not images:
            return
        options: list[Word] = []
        for key, option in _OPTIONS.items():
            for value in self.all(key, "Container"):
                options += _option(option, Word(value.text, value.places.at(0)))
        for value in self.all("Environment", "Container"):
            for word in unit_words(value):
                if (variable := self.assignment(word)) is not None:
                    text = f"{variable.name}={variable.value.text}"
                    options += _option("-e", replace(variable.value, text=text, origin=word.place))
        for value in self.all("PodmanArgs", "Container"):
            options += [word.word() for word in unit_words(value)]
        image = Word(images[-1].text, images[-1].places.at(0))
        arguments: list[Word] = []
        for value in self.all("Exec", "Container")[-1:]:
            for word in unit_words(value):
                if word.lost:
                    self.findings.append(complaints.lost_quotes(word.place))
                arguments += replaced(word, self.given.variables.get, self.budget)
        started = Process(self.source, Form.SYSTEMD, self.name(), (), findings=tuple(self.findings))
        found = docker_run((*options, image, *arguments), started, self.given.read_file)
        if found is not None:
            yield found


def _option(option: str, value: Word) -> Sequence[Word]:
    return (Word(option, value.origin), replace(value, places=None))


def _is_script(argv: Sequence[Word]) -> bool:
    """Whether a shell's script comes next, whose variables are the shell's own."""
    return bool(argv) and re.fullmatch(r"-[a-z]*c", argv[-1].text) is not None


def _limit(text: str) -> int | None:
    soft = text.partition(":")[0].strip()
    if soft == "infinity":
        return lock_limit("-1")
    return container_size(soft)
