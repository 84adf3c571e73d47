"""A Dockerfile in, the process of its last stage out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from hmactl.deployment.deployment import Target
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area, Unknown
from hmactl.finding import Finding
from hmactl.sources.budget import Budget
from hmactl.sources.container.files import files_of
from hmactl.sources.container.start import container_start
from hmactl.sources.dockerfile import complaints
from hmactl.sources.dockerfile.instructions import Instruction, read_instructions
from hmactl.sources.dockerfile.stage import Stage, first_stage
from hmactl.sources.dockerfile.words import process_word, split_words
from hmactl.sources.given import Given
from hmactl.sources.process.process import Process
from hmactl.sources.process.program import find_command
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.shell.value import Value, to_word

_MOST_STAGES = 100


def read_dockerfile(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """What a container of the image starts when it is run without arguments.

    ``given`` variables are those of the build and of the container.
    """
    stage = last_stage(source, text, given)
    if stage is None or stage.image is None:
        return ()
    argv, findings = start(stage)
    own = stage.environment
    further = tuple(Variable(n, w, w.origin) for n, w in given.variables.items() if n not in own)
    environment = (*own.values(), *further)
    texts = [*(word.text for word in argv), *(v.value.text for v in own.values())]
    files = files_of(stage.mounts, texts, stage.working, given.read_file, stage.files)
    unknown: tuple[Unknown, ...] = ()
    started = find_command(argv)
    if started is not None and not started.arguments:
        what = "(the arguments of docker run)"
        unknown = (Unknown(Area.VLLM, None, what, stage.image.origin),)
    return (
        Process(
            source=source,
            form=Form.DOCKERFILE,
            name="stdin" if source == "-" else PurePath(source).name,
            argv=argv,
            environment=environment,
            unknown=unknown,
            files=files,
            target=Target(vllm=stage.vllm, lmcache=stage.lmcache),
            findings=(*stage.findings, *findings),
        ),
    )


def last_stage(source: str, text: str, given: Given, target: str | None = None) -> Stage | None:
    """The stage of that name, or the last one; None where the text has no FROM."""
    instructions = read_instructions(source, text)
    building = _Building(instructions.escape, given.variables, {}, {}, [])
    for instruction in instructions.all:
        building.take(instruction)
    if target is not None and target in building.stages:
        return building.stages[target]
    return building.order[-1] if building.order else None


@dataclass(slots=True)
class _Building:
    escape: str
    given: Mapping[str, Word]
    arguments: dict[str, Value]
    stages: dict[str, Stage]
    order: list[Stage]
    budget: Budget = field(default_factory=Budget)

    def take(self, instruction: Instruction) -> None:
        if instruction.keyword == "FROM":
            self.begin(instruction)
        elif self.order:
            self.order[-1].apply(instruction)
            if instruction.keyword == "ARG":
                self.declare(instruction)
        elif instruction.keyword == "ARG":
            outside = Stage(
                None, self.escape, self.given, arguments=self.arguments, budget=self.budget
            )
            outside.apply(instruction)

    def declare(self, instruction: Instruction) -> None:
        """An ARG of a stage without a value has that of the ARG before the first FROM."""
        stage = self.order[-1]
        for piece in split_words(instruction.rest, self.escape):
            if piece.text in self.arguments:
                stage.arguments.setdefault(piece.text, self.arguments[piece.text])

    def begin(self, instruction: Instruction) -> None:
        pieces = [
            piece
            for piece in split_words(instruction.rest, self.escape)
            if not piece.text.startswith("--")
        ]
        if not pieces or len(self.order) >= _MOST_STAGES:
            return
        value = process_word(pieces[0], self.escape, self.arguments.get, self.budget)
        image = to_word(value, pieces[0].places)
        below = self.stages.get(image.text.lower()) or self.stages.get(image.text)
        stage = (
            first_stage(image, self.escape, self.given, self.budget)
            if below is None
            else below.on_top()
        )
        self.order.append(stage)
        self.stages[str(len(self.order) - 1)] = stage
        if len(pieces) > 2 and pieces[1].text.upper() == "AS":
            self.stages[pieces[2].text.lower()] = stage
            self.stages[pieces[2].text] = stage


def start(
    stage: Stage,
    entrypoint: tuple[Word, ...] | None = None,
    arguments: tuple[Word, ...] | None = None,
) -> tuple[tuple[Word, ...], tuple[Finding, ...]]:
    """What a container of the image runs, and what is wrong with it.

    ``entrypoint`` and ``arguments`` are those of who starts the container, None for the image's; an
    entrypoint leaves nothing of the image's command.
    """
    if entrypoint is not None:
        return container_start(stage.image, entrypoint, arguments or ())
    own, command = stage.entrypoint, stage.command
    if own is not None and own.shell:
        lost: tuple[Finding, ...] = ()
        if arguments:
            lost = (complaints.ignored_command(arguments[0].origin),)
        elif command is not None and stage.own_command:
            lost = (complaints.ignored_command(command.origin),)
        return _for_shell(stage, own.words), lost
    if arguments is None:
        arguments = () if command is None else command.words
        if command is not None and command.shell:
            arguments = _for_shell(stage, command.words)
    argv, repeated = container_start(stage.image, None if own is None else own.words, arguments)
    if find_command(argv) is None:
        return argv, repeated
    unexpanded = (
        complaint
        for one, keyword in ((own, "ENTRYPOINT"), (command, "CMD"))
        if one is not None and not one.shell
        for complaint in complaints.not_expanded(
            [word for word in one.words if word in argv], keyword
        )
    )
    return argv, (*repeated, *unexpanded)


def _for_shell(stage: Stage, words: tuple[Word, ...]) -> tuple[Word, ...]:
    where = replace(words[0], places=None)
    return (*(replace(where, text=text) for text in stage.interpreter), *words)
