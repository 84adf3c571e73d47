"""JSON for launchers of one's own: ``hmactl schema launch`` prints its schema."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hmactl.deployment.deployment import UNLIMITED
from hmactl.launch.endpoint import Endpoint
from hmactl.launch.render.model import (
    OutputFile,
    Program,
    Reference,
    Rendered,
    Text,
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)


class VariableForm(_Frozen):
    """A value that is not written: what starts the server supplies it."""

    variable: str


WordForm = str | tuple[str | VariableForm, ...]
"""Text, or the parts of a text of which some are not written."""


class EndpointForm(_Frozen):
    """Where a program answers; ``host`` is the address that it binds, "" for all.

    One of ``health`` answers 200 when it is healthy; none: only a connection can be tried.
    """

    port: int
    host: str
    health: tuple[str, ...]


class ProgramForm(_Frozen):
    """A process: its argv, its variables on top of those that it inherits, where it answers, and
    bytes of host memory that it is known to take, which is less than it needs."""

    name: str
    argv: tuple[WordForm, ...]
    env: dict[str, WordForm]
    endpoint: EndpointForm | None
    memory: int | None


class LimitsForm(_Frozen):
    """What the operator said of the machine, in bytes; ``memlock`` may be "unlimited"."""

    gpus: int
    gpu: str | None
    memory_limit: int | None
    shm: int | None
    memlock: int | Literal["unlimited"] | None


class PathForm(_Frozen):
    """A file or directory that the programs look for; ``text`` is a file's content, if known."""

    path: str
    directory: bool
    text: str | None


class LaunchForm(_Frozen):
    """What is to be started: companions before the engine, which needs them."""

    schema_: Literal["hmactl-launch/1"] = Field("hmactl-launch/1", alias="schema")
    name: str
    remarks: tuple[str, ...]
    engine: ProgramForm
    companions: tuple[ProgramForm, ...]
    limits: LimitsForm
    variables: tuple[str, ...] = Field(
        description="variables that are not written and have to be supplied"
    )
    directory: str | None = Field(description="where relative paths start")
    paths: tuple[PathForm, ...]
    image: str | None = None


def launch_schema() -> dict[str, Any]:
    """The JSON Schema of this form."""
    schema = LaunchForm.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema


def render_json(rendered: Rendered) -> tuple[OutputFile, ...]:
    """One object."""
    text = launch_form(rendered).model_dump_json(indent=2)
    return (OutputFile(f"{rendered.name}.launch.json", f"{text}\n"),)


def json_notes(rendered: Rendered) -> Iterator[str]:
    """What the launcher has to supply."""
    if rendered.references:
        yield f"not written, and named under `variables`: {', '.join(rendered.references)}"


def launch_form(rendered: Rendered) -> LaunchForm:
    """The rendering as published."""
    machine, server = rendered.machine, rendered.server
    companions: tuple[ProgramForm, ...] = ()
    if server is not None:
        companions = (_program(server, rendered.server_endpoint, machine.server_memory),)
    return LaunchForm(
        name=rendered.name,
        remarks=rendered.remarks,
        engine=_program(rendered.engine, rendered.endpoint, machine.engine_memory),
        companions=companions,
        limits=LimitsForm(
            gpus=machine.gpus,
            gpu=machine.gpu,
            memory_limit=machine.memory_limit,
            shm=machine.shm,
            memlock="unlimited" if machine.memlock == UNLIMITED else machine.memlock,
        ),
        variables=rendered.references,
        directory=rendered.directory,
        paths=tuple(
            PathForm(path=path.path, directory=path.directory, text=path.text)
            for path in rendered.paths
        ),
        image=rendered.image,
    )


def _program(program: Program, endpoint: Endpoint | None, memory: int | None) -> ProgramForm:
    return ProgramForm(
        name=program.name,
        argv=(*program.command, *map(_word, program.arguments)),
        env={name: _word(value) for name, value in program.environment},
        endpoint=None
        if endpoint is None
        else EndpointForm(port=endpoint.port, host=endpoint.host, health=endpoint.paths),
        memory=memory,
    )


def _word(text: Text) -> WordForm:
    if not any(isinstance(part, Reference) for part in text):
        return "".join(part for part in text if isinstance(part, str))
    return tuple(
        part if isinstance(part, str) else VariableForm(variable=part.name) for part in text
    )
