"""Words and comments as several forms write them."""

import json
import re
import shlex
from collections.abc import Iterator

from hmactl.launch.endpoint import Endpoint
from hmactl.launch.render.model import Program, Reference, Rendered, Text, text_of

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")
_UNSEEN_OR_LINE = re.compile(rf"{_UNSEEN.pattern}|\n")
_IN_C = {"\\": r"\x5c", "'": r"\x27", "\n": r"\n", "\t": r"\t"}


def shell_word(text: Text, *, multiline: bool = True) -> str:
    """A word of a shell; a reference becomes a variable without which the command ends.

    Without ``multiline`` the word stands on one line.
    """
    if not text:
        return "''"

    def literal(part: str) -> str:
        return _literal(part, _UNSEEN if multiline else _UNSEEN_OR_LINE)

    return text_of(text, literal, lambda reference: f'"${{{reference.name}:?}}"')


def _literal(text: str, escaped: re.Pattern[str]) -> str:
    """Text quoted for bash; what would steer a terminal is spelt as an escape."""
    if escaped.search(text) is None:
        return shlex.quote(text)
    spelt = "".join(_IN_C.get(c, c) if _UNSEEN.match(c) is None else _escape(c) for c in text)
    return f"$'{spelt}'"


def _escape(character: str) -> str:
    # Of bytes, because what a code comes to depends on the locale.
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def shell_lines(program: Program, *, multiline: bool = True) -> Iterator[str]:
    """A program's command, an option with its values on a line."""
    words = [f"{name}={shell_word(value)}" for name, value in program.environment]
    yield from ("env", *words) if words else ()
    line = " ".join(map(shlex.quote, program.command))
    for argument in program.arguments:
        word = shell_word(argument, multiline=multiline)
        first = argument[0] if argument else ""
        if isinstance(first, str) and first.startswith("--"):
            yield line
            line = word
        else:
            line += f" {word}"
    yield line


def remark_lines(rendered: Rendered) -> Iterator[str]:
    """The remarks as comment lines."""
    for remark in rendered.remarks:
        yield f"# {one_line(remark)}"


def one_line(text: str) -> str:
    """Text that stands in a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def plain(text: Text, spell: str = "${%s}") -> str:
    """Text as it stands, with references in that spelling."""
    return text_of(text, str, lambda reference: spell % reference.name)


def health_command(endpoint: Endpoint) -> list[str]:
    """A command that succeeds when what answers there is healthy.

    Every image that runs vLLM has a Python; a server of LMCache answers at a path that depends on
    its release.
    """
    host = "127.0.0.1" if endpoint.host in {"", "0.0.0.0", "localhost"} else endpoint.host  # noqa: S104
    at = f"{json.dumps(host)}, {endpoint.port}"
    if not endpoint.paths:
        return ["python3", "-c", f"import socket; socket.create_connection(({at}), timeout=5)"]
    paths = ", ".join(map(json.dumps, endpoint.paths))
    script = (
        "import http.client, sys; "
        f"get = lambda path: (c := http.client.HTTPConnection({at}, timeout=5))"
        '.request("GET", path) or c.getresponse().status; '
        f"sys.exit(200 not in map(get, [{paths}]))"
    )
    return ["python3", "-c", script]


def references_of(program: Program) -> Iterator[Reference]:
    """The references of a program, each name once."""
    seen = set[str]()
    for text in program.texts:
        for part in text:
            if isinstance(part, Reference) and part.name not in seen:
                seen.add(part.name)
                yield part
