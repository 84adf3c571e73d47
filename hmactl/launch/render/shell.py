"""A script for bash."""

import shlex
from collections.abc import Iterator

from hmactl.launch.render.model import OutputFile, Rendered
from hmactl.launch.render.words import remark_lines, shell_lines

_JOINED = " \\\n  "


def render_shell(rendered: Rendered) -> tuple[OutputFile, ...]:
    """A script that starts the engine, with its LMCache server beside it."""
    return (OutputFile(f"{rendered.name}.sh", "\n".join(_lines(rendered)) + "\n"),)


def shell_command(rendered: Rendered) -> str:
    """The same without anything around it, to be pasted: one command for each program."""
    commands = [_JOINED.join(shell_lines(program)) for program in rendered.programs]
    return " &\n".join(commands)


def shell_notes(rendered: Rendered) -> Iterator[str]:
    """What has to be there before the script can start."""
    if rendered.references:
        yield f"not written, and needed in its environment: {', '.join(rendered.references)}"


def _lines(rendered: Rendered) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield from remark_lines(rendered)
    if rendered.directory is not None:
        yield f"cd -- {shlex.quote(rendered.directory)} || exit"
    engine = _JOINED.join(shell_lines(rendered.engine))
    if rendered.server is None:
        yield f"exec {engine}"
        return
    # The engine waits for its server by itself.
    yield _JOINED.join(shell_lines(rendered.server)) + " &"
    yield "lmcache_server=$!"
    yield "trap 'kill \"$lmcache_server\"' EXIT"
    yield engine
