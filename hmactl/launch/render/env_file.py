"""An environment file as `docker run --env-file` and `kubectl --from-env-file` take it.

Each line is a name and its value as it stands, without quotes and escapes. systemd's
EnvironmentFile= reads quotes and backslashes, so it is only the same where a value has none.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from hmactl.launch.render.model import NotRenderedError, OutputFile, Reference, Rendered, Text
from hmactl.launch.render.words import plain, remark_lines, shell_lines

_OF_SYSTEMD = re.compile(r"[\"'\\]|^\s|\s$")
_NO_LINE = re.compile(r"[\n\r\x00]")


def render_env_file(rendered: Rendered) -> tuple[OutputFile, ...]:
    """The engine's variables, with its command in a comment.

    A reference is a name alone, which docker fills from its own environment. Raises
    NotRenderedError for a value that no line can hold.
    """
    return (OutputFile(f"{rendered.name}.env", "\n".join(_lines(rendered)) + "\n"),)


def env_file_notes(rendered: Rendered) -> Iterator[str]:
    """What the file does not hold, and who reads it otherwise."""
    names = [name for name, value in rendered.engine.environment if _is_reference(value)]
    if names:
        yield (
            f"without a value, which docker takes from where it runs: {', '.join(names)}; "
            "systemd and kubectl do not"
        )
    quoted = [
        name
        for name, value in rendered.engine.environment
        if not _is_reference(value) and _OF_SYSTEMD.search(plain(value))
    ]
    if quoted:
        yield (
            f"systemd would take quotes and backslashes out of {', '.join(quoted)}: for a unit, "
            "`--format systemd`"
        )
    if rendered.server is not None:
        yield "the LMCache server gets the same variables; its command is the first comment"


def _lines(rendered: Rendered) -> Iterator[str]:
    yield from remark_lines(rendered)
    for program in rendered.programs:
        yield f"# {' '.join(shell_lines(replace(program, environment=()), multiline=False))}"
    for name, value in rendered.engine.environment:
        if _is_reference(value):
            yield name
            continue
        text = plain(value)
        if _NO_LINE.search(text) or name.startswith("#") or "=" in name:
            raise NotRenderedError(
                f"`{name}` has a line break, which no line of an environment file can hold; "
                "the other formats can"
            )
        yield f"{name}={text}"


def _is_reference(value: Text) -> bool:
    return any(isinstance(part, Reference) for part in value)
