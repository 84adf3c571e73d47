"""A compose file in, the processes of its services out."""

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hmactl.deployment.deployment import Target
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.finding import Finding
from hmactl.sources.budget import Budget
from hmactl.sources.compose import complaints
from hmactl.sources.compose.interpolation import Interpolation, Lookup
from hmactl.sources.compose.service import Service, services
from hmactl.sources.compose.split import split_command
from hmactl.sources.container.env_files import docker_env_file, dotenv
from hmactl.sources.container.files import files_of
from hmactl.sources.container.gpus import number
from hmactl.sources.container.mounts import Mount
from hmactl.sources.container.sizes import DEFAULT_SHM, container_size, lock_limit
from hmactl.sources.container.start import container_start
from hmactl.sources.dockerfile.reader import last_stage, start
from hmactl.sources.dockerfile.stage import Stage
from hmactl.sources.given import Given
from hmactl.sources.image import versions
from hmactl.sources.node import Node
from hmactl.sources.process.part import part
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.shell.value import Value, from_word, to_word
from hmactl.sources.yaml_nodes import read_documents
from hmactl.sources.yaml_word import yaml_word

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_SHM = "/dev/shm"  # noqa: S108
_FEWEST, _MOST = 2, 3


def read_compose(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """The containers that a compose file starts, those of every profile of it included."""
    found: list[Process] = []
    for document in read_documents(source, text, of_others=True):
        if document.root is not None:
            found += _File(source, document.root, given).processes(document.findings)
    return tuple(found)


class _File:
    def __init__(self, source: str, root: Node, given: Given) -> None:
        self.source = source
        self.root = root
        self.given = given
        self.budget = Budget()
        self.beside = self._beside()

    def _beside(self) -> Mapping[str, Word]:
        """The variables of the ``.env`` beside the file, which those that are given replace."""
        file = self.given.read_file(".env")
        found: dict[str, Word] = {}
        if file is not None:
            lookup: Lookup = lambda name: self.given.variables.get(name) or found.get(name)  # noqa: E731
            for variable in dotenv(
                file, lambda _name, _origin: None, _expansion(lookup, self.budget)
            ):
                found[variable.name] = variable.value
        return found

    def lookup(self, name: str) -> Word | None:
        """A variable where Compose runs."""
        return self.given.variables.get(name) or self.beside.get(name)

    def processes(self, findings: tuple[Finding, ...]) -> Iterator[Process]:
        """The services' processes, each with the findings about the lines that it stands on."""
        findings = tuple(sorted(findings, key=lambda finding: finding.origin.line or 0))
        lines = [finding.origin.line or 0 for finding in findings]
        for service in services(self.root):
            reading = _Reading(self, service)
            process = reading.process()
            own = service.layers[-1]
            first = bisect_left(lines, own.position.line - 1)
            behind = bisect_right(lines, _last_line(own))
            yield replace(process, findings=(*findings[first:behind], *process.findings))


@dataclass(slots=True)
class _Reading:
    file: _File
    service: Service
    unknown: list[Unknown] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    used: dict[str, Origin] = field(default_factory=dict)

    def process(self) -> Process:
        service = self.service
        stage = self.built()
        image = self.scalar(service.get("image")) if stage is None else stage.image
        environment = tuple(self.environment())
        if stage is not None:
            environment = (*stage.environment.values(), *environment)
        self.used.clear()
        entrypoint, command = self.command("entrypoint"), self.command("command")
        if stage is None:
            argv, findings = container_start(image, entrypoint, command or ())
            vllm, lmcache = versions(image.text) if image and image.known else (None, None)
        else:
            argv, findings = start(stage, entrypoint, command)
            findings = (*stage.findings, *findings)
            vllm, lmcache = stage.vllm, stage.lmcache
        self.complain_of_own_variables(environment)
        if service.elsewhere is not None:
            self.not_known(service.elsewhere, "extends")
        files = (*self.files(argv, environment, stage), *self.configs())
        return Process(
            source=self.file.source,
            form=Form.COMPOSE,
            name=service.name,
            argv=argv,
            environment=environment,
            unknown=tuple(self.unknown),
            files=files,
            target=Target(
                gpus=self.gpus(),
                memory_limit=self.memory(),
                shm=self.shm(),
                memlock=self.memlock(),
                vllm=vllm,
                lmcache=lmcache,
            ),
            findings=(*self.findings, *findings),
        )

    def not_known(self, node: Node, what: str) -> None:
        origin = self.origin(node)
        self.unknown.append(Unknown(Area.ENV, None, what, origin))

    def origin(self, node: Node) -> Origin:
        return Origin(self.file.source, *node.position)

    def value(self, node: Node) -> Value:
        """A scalar's text, with Compose's variables replaced."""
        word = replace(yaml_word(self.file.source, node), text=_text(node))
        interpolation = Interpolation(self.file.lookup, self.used, [], budget=self.file.budget)
        value = interpolation.run(from_word(word))
        self.findings += map(complaints.invalid_dollar, interpolation.invalid)
        return value

    def word(self, node: Node) -> Word:
        """A scalar as one word, whatever its variables come to."""
        places = yaml_word(self.file.source, node).where()
        return replace(to_word(self.value(node), places), several=False)

    def scalar(self, node: Node | None) -> Word | None:
        return None if node is None or isinstance(node.value, list | dict) else self.word(node)

    def known(self, node: Node | None) -> str | None:
        """A scalar's text, None where it is not known or none is there."""
        word = self.scalar(node)
        return word.text if word is not None and word.known else None

    def command(self, key: str) -> tuple[Word, ...] | None:
        node = self.service.get(key)
        if node is None or isinstance(node.value, dict):
            return None
        if isinstance(node.value, list):
            items = [child for child in node.children.values() if not child.children]
            numbers = [child for child in items if not isinstance(child.value, str)]
            self.findings += (
                complaints.not_text(child.written, self.origin(child), key) for child in numbers
            )
            return tuple(self.word(child) for child in items)
        split = split_command(self.value(node))
        self.findings += complaints.of_split(split, key)
        return split.words

    def environment(self) -> Iterator[Variable]:
        """The variables of the files, then the service's own."""
        for node in self.service.each("env_file"):
            for one in node.children.values() if isinstance(node.value, list) else (node,):
                yield from self.env_file(one)
        for node in self.service.each("environment"):
            yield from self.variables(node)

    def variables(self, node: Node) -> Iterator[Variable]:
        """A mapping of names and values, or a list of ``NAME=value``."""
        if isinstance(node.value, dict):
            for name, child in node.children.items():
                origin = Origin(self.file.source, *node.keys[name])
                if child.value is None:
                    yield self.inherited(str(name), origin)
                elif not child.children:
                    yield Variable(str(name), self.word(child), origin)
        elif isinstance(node.value, list):
            for child in node.children.values():
                yield from self.entry(child)

    def entry(self, node: Node) -> Iterator[Variable]:
        """``NAME=value`` or ``NAME`` in a list."""
        if node.value is None or node.children:
            return
        word = self.word(node)
        name = word.text.partition("=")[0]
        if _NAME.fullmatch(name) is None:
            if not word.known:
                self.unknown.append(Unknown(Area.ENV, None, word.text, word.origin, word.needs))
        elif "=" in word.text:
            value = part(word, len(name) + 1)
            self.findings += complaints.kept_quotes(name, value)
            yield Variable(name, value, word.origin)
        else:
            yield self.inherited(name, word.origin)

    def inherited(self, name: str, origin: Origin) -> Variable:
        """A name without a value: that of where Compose runs."""
        value = self.file.lookup(name) or Word(f"${name}", origin, False, (name,))
        return Variable(name, value, origin)

    def env_file(self, node: Node) -> Iterator[Variable]:
        path_node = node.at(("path",)) if isinstance(node.value, dict) else node
        path = self.known(path_node)
        file = None if path is None else self.file.given.read_file(path)
        if file is None:
            where = path_node or node
            self.not_known(where, f"env_file {where.written}")
            return
        raw = self.known(node.at(("format",))) == "raw"
        found: dict[str, Word] = {}
        lookup: Lookup = lambda n: found.get(n) or self.file.lookup(n)  # noqa: E731
        variables = (
            docker_env_file(file, self.inherited)
            if raw
            else dotenv(file, self.inherited, _expansion(lookup, self.file.budget))
        )
        for variable in variables:
            found[variable.name] = variable.value
            yield variable

    def complain_of_own_variables(self, environment: tuple[Variable, ...]) -> None:
        """A `$NAME` in the command is not the variable that the service gives to its container."""
        own = {v.name for v in environment if v.value.known}
        for name, origin in self.used.items():
            if name in own and self.file.lookup(name) is None:
                self.findings.append(complaints.own_variable(name, origin))

    def mounts(self) -> Iterator[Mount]:
        for node in self.service.each("volumes"):
            for child in node.children.values():
                if not child.children:
                    fields = (self.known(child) or "").split(":")
                    if _FEWEST <= len(fields) <= _MOST:
                        yield Mount(fields[0], fields[1])
                elif self.known(child.at(("type",))) in {None, "bind"}:
                    source, target = (self.known(child.at((k,))) for k in ("source", "target"))
                    if source and target:
                        yield Mount(source, target)

    def built(self) -> Stage | None:
        """The image that ``build:`` makes, where its Dockerfile can be read."""
        build = self.service.get("build")
        if build is None:
            return None
        plain = isinstance(build.value, str)
        context = self.known(build if plain else build.at(("context",))) or "."
        name = None if plain else self.known(build.at(("dockerfile",)))
        if build.at(("dockerfile_inline",)) is not None:
            return None
        file = self.file.given.read_file(posixpath.join(context, name or "Dockerfile"))
        if file is None:
            return None
        arguments = build.at(("args",))
        given = {} if arguments is None else {v.name: v.value for v in self.variables(arguments)}
        target = None if plain else self.known(build.at(("target",)))
        stage = last_stage(file.places.source, file.text, Given(given), target)
        if stage is not None:
            stage.mounts = [
                Mount(posixpath.join(context, m.source), m.target) for m in stage.mounts
            ]
        return stage

    def working(self, stage: Stage | None) -> str:
        own = self.known(self.service.get("working_dir"))
        return own or ("/" if stage is None else stage.working)

    def files(
        self, argv: tuple[Word, ...], environment: tuple[Variable, ...], stage: Stage | None
    ) -> tuple[TextFile, ...]:
        """Files of the image and mounted ones, which lie on top of them."""
        # A source that is no path is the name of a volume.
        mounts = [m for m in self.mounts() if m.source.startswith((".", "/"))]
        texts = [*(w.text for w in argv), *(v.value.text for v in environment)]
        working, read_file = self.working(stage), self.file.given.read_file
        below = () if stage is None else stage.mounts
        carried = () if stage is None else stage.files
        return files_of([*below, *mounts], texts, working, read_file, carried)

    def configs(self) -> Iterator[TextFile]:
        """The file's own ``configs:``, where the service has them."""
        for node in self.service.each("configs"):
            for child in node.children.values():
                name = self.known(child if not child.children else child.at(("source",)))
                config = self.file.root.at(("configs", name or ""))
                if name is None or config is None:
                    continue
                path = self.known(child.at(("target",))) or f"/{name}"
                content = self.scalar(config.at(("content",)))
                if content is not None:
                    if content.known:
                        yield TextFile(path, content.text, content.where())
                elif (beside := self.known(config.at(("file",)))) is not None:
                    file = self.file.given.read_file(beside)
                    if file is not None:
                        yield replace(file, path=path)

    def gpus(self) -> int | None:
        """The devices that the service asks for; None where it asks for all, or for none."""
        asked = self.service.get("gpus") or self.service.get(
            "deploy", "resources", "reservations", "devices"
        )
        if asked is None or not isinstance(asked.value, list):
            return None
        counts = [self.device(child) for child in asked.children.values()]
        return counts[0] if len(counts) == 1 else None

    def device(self, node: Node) -> int | None:
        ids = node.at(("device_ids",))
        if ids is not None and isinstance(ids.value, list):
            known = [self.known(child) for child in ids.children.values()]
            return len(known) if None not in known and "all" not in known else None
        count = self.known(node.at(("count",)))
        return None if count is None else number(count)

    def size(self, *route: str) -> int | None:
        text = self.known(self.service.get(*route))
        return None if text is None else container_size(text)

    def memory(self) -> int | None:
        return (
            self.size("deploy", "resources", "limits", "memory") or self.size("mem_limit") or None
        )

    def shm(self) -> int | None:
        """None where /dev/shm is the host's or another container's, or its size is not known."""
        ipc = self.scalar(self.service.get("ipc"))
        if ipc is not None and (not ipc.known or ipc.text not in {"private", "shareable"}):
            return None
        if any(m.target == _SHM for m in self.mounts()) or self.tmpfs():
            return None
        if self.service.get("shm_size") is None:
            return None if self.service.elsewhere is not None else DEFAULT_SHM
        return self.size("shm_size")

    def tmpfs(self) -> bool:
        """Whether something else than a bind mount lies on /dev/shm."""
        nodes = [
            child
            for key in ("tmpfs", "volumes")
            for node in self.service.each(key)
            for child in (node, *node.children.values())
        ]
        targets = [node.at(("target",)) or node for node in nodes]
        return any(_SHM in node.written for node in targets)

    def memlock(self) -> int | None:
        limit = self.service.get("ulimits", "memlock")
        if limit is not None and isinstance(limit.value, dict):
            limit = limit.at(("soft",))
        text = self.known(limit)
        return None if text is None else lock_limit(text)


def _expansion(lookup: Lookup, budget: Budget) -> Callable[[Word], Word]:
    def expand(word: Word) -> Word:
        value = Interpolation(lookup, {}, [], True, budget).run(from_word(word))
        return replace(to_word(value, word.where()), several=False, origin=word.origin)

    return expand


def _text(node: Node) -> str:
    """The text that Compose makes of a scalar."""
    value = node.value
    if isinstance(value, bool):
        written = node.written
        return written.lower() if written.lower() in {"true", "false"} else written
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else node.written


def _last_line(node: Node) -> int:
    """The line on which the last value in a node begins."""
    last, waiting = node.position.line, [node]
    while waiting:
        one = waiting.pop()
        last = max(last, one.position.line)
        waiting += one.children.values()
    return last
