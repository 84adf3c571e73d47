"""Units of systemd."""

import re
from collections.abc import Iterator

from hmactl.deployment.deployment import UNLIMITED
from hmactl.launch.render.model import OutputFile, Program, Rendered, Text, text_of
from hmactl.launch.render.words import one_line, references_of, remark_lines

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNSEEN = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./~-]+")
# vLLM may have to finish requests, and LMCache to write what it holds.
_STOP_SECONDS = 120


def render_systemd(rendered: Rendered) -> tuple[OutputFile, ...]:
    """A unit for the engine, and one for the LMCache server, which the engine's requires."""
    units = [OutputFile(f"{rendered.name}.service", _unit(rendered, rendered.engine))]
    if rendered.server is not None:
        units.append(OutputFile(_server_unit(rendered), _unit(rendered, rendered.server)))
    return tuple(units)


def systemd_notes(rendered: Rendered) -> Iterator[str]:
    """What has to be put where the unit looks for it."""
    if rendered.references:
        yield (
            f"not written, and needed in {secrets_file(rendered)} as NAME=VALUE lines that only "
            f"root can read: {', '.join(rendered.references)}"
        )
    yield "the unit names no `User=`: add the one that shall own the server"


def secrets_file(rendered: Rendered) -> str:
    """Where a unit has its secrets from."""
    return f"/etc/{rendered.name}/secrets.env"


def _server_unit(rendered: Rendered) -> str:
    return f"{rendered.name}-lmcache.service"


def _unit(rendered: Rendered, program: Program) -> str:
    return "\n".join(_lines(rendered, program)) + "\n"


def _lines(rendered: Rendered, program: Program) -> Iterator[str]:
    is_engine = program is rendered.engine
    what = "vLLM" if is_engine else "LMCache server"
    yield from remark_lines(rendered)
    yield "[Unit]"
    yield f"Description={what} of {one_line(rendered.name)}"
    yield "Wants=network-online.target"
    if is_engine and rendered.server is not None:
        yield f"After=network-online.target {_server_unit(rendered)}"
        yield f"Requires={_server_unit(rendered)}"
    else:
        yield "After=network-online.target"
    yield ""
    yield "[Service]"
    yield "Type=exec"
    if rendered.directory is not None:
        yield f"WorkingDirectory={rendered.directory.replace('%', '%%')}"
    references = {reference.name for reference in references_of(program)}
    for name, value in program.environment:
        if references.isdisjoint(part.name for part in value if not isinstance(part, str)):
            yield f"Environment={_word((f'{name}=', *value), dollars=False)}"
    if references:
        yield f"# {', '.join(sorted(references))}:"
        yield f"EnvironmentFile={secrets_file(rendered)}"
    yield f"ExecStart={_command(program)}"
    if is_engine:
        yield "# vLLM can end with status 0 when its engine has died."
    yield "Restart=always"
    yield "RestartSec=10"
    yield "# The server itself is asked to stop; what is left of its processes is ended."
    yield "KillMode=mixed"
    yield f"TimeoutStopSec={_STOP_SECONDS}"
    machine = rendered.machine
    limit = machine.memory_limit if is_engine else machine.server_limit
    if limit is not None:
        yield f"MemoryMax={limit}"
    if machine.memlock is not None:
        yield f"LimitMEMLOCK={_lock(machine.memlock)}"
    yield ""
    yield "[Install]"
    yield "WantedBy=multi-user.target"


def _lock(size: int) -> str:
    return "infinity" if size == UNLIMITED else str(size)


def _command(program: Program) -> str:
    lines = [_word((word,)) for word in program.command]
    line = " ".join(lines)
    made = []
    for argument in program.arguments:
        first = argument[0] if argument else ""
        if isinstance(first, str) and first.startswith("--"):
            made.append(line)
            line = _word(argument)
        else:
            line += f" {_word(argument)}"
    return " \\\n  ".join([*made, line])


def _word(text: Text, *, dollars: bool = True) -> str:
    """One word. systemd replaces variables only in commands, specifiers everywhere."""

    def literal(part: str) -> str:
        part = part.replace("%", "%%")
        return part.replace("$", "$$") if dollars else part

    made = text_of(text, literal, lambda reference: f"${{{reference.name}}}")
    if _PLAIN.fullmatch(made):
        return made
    quote = '"' if "'" in made else "'"
    escaped = _UNSEEN.sub(
        lambda c: _ESCAPES.get(c[0], f"\\x{ord(c[0]):02x}"), made.replace("\\", "\\\\")
    )
    return f"{quote}{escaped.replace(quote, chr(92) + quote)}{quote}"
