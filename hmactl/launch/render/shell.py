"""A script for bash."""

import shlex
from collections.abc import Iterator

from hmactl.launch.launch import Launch
from hmactl.launch.render.model import OutputFile, Program, Rendered
from hmactl.launch.render.secrets import Secrets
from hmactl.launch.render.words import remark_lines, shell_lines

_JOINED = " \\\n  "


def render_shell(rendered: Rendered) -> tuple[OutputFile, ...]:
    """A script that starts the engine, with its LMCache server beside it."""
    return (OutputFile(f"{rendered.name}.sh", "\n".join(_lines(rendered)) + "\n"),)


def shell_form(*launches: Launch) -> str:
    """Launches as commands to paste, the last in the foreground, with references for secrets."""
    secrets = Secrets()
    commands = [_JOINED.join(shell_lines(_program(launch, secrets))) for launch in launches]
    return " &\n".join(commands)


def _program(launch: Launch, secrets: Secrets) -> Program:
    options = (at for at, word in enumerate(launch.argv) if word.startswith("--"))
    verb = next(options, len(launch.argv))
    return Program(
        "",
        launch.argv[:verb],
        secrets.arguments(launch.argv[verb:]),
        secrets.environment(launch.added),
    )


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
