"""What every form of a rendering has in common."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hmactl.launch.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that is not written: whoever starts the server supplies it in that variable.

    ``field`` is the field of a pod that Kubernetes takes it from by itself, if the source says one.
    """

    name: str
    field: str | None = None


Text = tuple[str | Reference, ...]
"""A value as its parts; a plain one is one part, an empty one none."""


def text_of(parts: Text, literal: Callable[[str], str], spell: Callable[[Reference], str]) -> str:
    """The parts joined, each in the words of a form."""
    return "".join(literal(part) if isinstance(part, str) else spell(part) for part in parts)


@dataclass(frozen=True, slots=True)
class Program:
    """A process to start: its command, the arguments behind it, and its own variables."""

    name: str
    command: tuple[str, ...]
    arguments: tuple[Text, ...]
    environment: tuple[tuple[str, Text], ...]

    @property
    def texts(self) -> Iterator[Text]:
        """Every argument and every variable's value."""
        yield from self.arguments
        for _name, value in self.environment:
            yield value


@dataclass(frozen=True, slots=True)
class CarriedPath:
    """A file or directory that a process looks for at ``path``, an absolute one.

    ``text`` is a file's content, None for a directory and for what must not be written out
    (``secret``). ``here``: it is on the machine where hmactl runs.
    """

    path: str
    text: str | None = None
    here: bool = False
    directory: bool = False
    secret: bool = False

    @property
    def base(self) -> str:
        """Its last name."""
        return self.path.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Machine:
    """What the deployment takes of its machine. Sizes in bytes; None: not said, or not known.

    ``gpus`` is how many the engine takes, 0 on the CPU platform; ``gpu`` is the model's name as the
    driver says it, where the operator named one. ``memory_limit``, ``shm`` and ``memlock`` are as
    the operator wrote them, and so is ``server_limit``, of an LMCache server in its own container.
    ``engine_memory`` and ``server_memory`` are what is known to be taken
    of the host's memory, which is less than what is needed.
    """

    gpus: int
    gpu: str | None = None
    memory_limit: int | None = None
    shm: int | None = None
    memlock: int | None = None
    engine_memory: int | None = None
    server_memory: int | None = None
    server_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A deployment to be written in a launcher's own form.

    ``remarks`` say in a comment what it is; ``directory`` is where relative paths start, None where
    there are none. ``server_alias`` is the name by which the engine looks for the LMCache server,
    where that is no address of its own machine. ``cache`` is the directory of what is downloaded,
    None where the model is local; ``disk`` is LMCache's.
    """

    name: str
    remarks: tuple[str, ...]
    engine: Program
    machine: Machine
    endpoint: Endpoint | None = None
    server: Program | None = None
    server_endpoint: Endpoint | None = None
    server_alias: str | None = None
    image: str | None = None
    directory: str | None = None
    paths: tuple[CarriedPath, ...] = ()
    cache: str | None = None
    disk: str | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """In the order of their start."""
        return (self.engine,) if self.server is None else (self.server, self.engine)

    @property
    def references(self) -> tuple[str, ...]:
        """The variables that have to be supplied, in the order of their first use."""
        texts = (text for program in self.programs for text in program.texts)
        names = (part.name for text in texts for part in text if isinstance(part, Reference))
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file of a rendering, under the name that it has unless the operator says another."""

    name: str
    text: str


class NotRenderedError(Exception):
    """A form cannot say what the deployment says; the text names it and what can."""
