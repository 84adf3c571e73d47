"""The text of a source: read from a file, and judged before anything reads it."""

import stat
from pathlib import Path

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.document import Document
from hmactl.sources.text_file import read_start

MAX_BYTES = 1 << 20


def load_source(path: Path) -> str | Document:
    """The text of a file, or a document with the finding (PRO001) that says why there is none.

    Never raises for what a path can name, and never waits for data.
    """
    source = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return unreadable(source, "is a directory", "name a file in it")
        if not stat.S_ISREG(mode):
            return unreadable(
                source, "is not a regular file", "name a file, or `-` for standard input"
            )
        data = read_start(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return unreadable(
            source, f"cannot be read: {reason.lower()}", "check the path and its permissions"
        )
    if len(data) > MAX_BYTES:
        return _too_large(source)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return _not_text(source, data.count(b"\n", 0, error.start) + 1)


def problem_of(source: str, text: str) -> Document | None:
    """A document with what forbids to read that text at all (PRO001), None for a sound one."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        return _not_text(source, text.count("\n", 0, error.start) + 1)
    if size > MAX_BYTES:
        return _too_large(source)
    if "\0" in text:
        return _not_text(source, text.count("\n", 0, text.index("\0")) + 1)
    return None


def unreadable(source: str, what: str, fix: str) -> Document:
    """A document that only says what is wrong with the source as a whole."""
    return _finding(Origin(source), f"`{source}` {what}", fix)


def _too_large(source: str) -> Document:
    return unreadable(
        source,
        f"is larger than {MAX_BYTES >> 20} MiB, which no configuration is",
        "name the file that holds the deployment, or split it into several files",
    )


def _not_text(source: str, line: int) -> Document:
    return _finding(Origin(source, line, 1), f"`{source}` is not UTF-8 text", "save it as UTF-8")


def _finding(origin: Origin, message: str, fix: str) -> Document:
    consequence = "there is nothing to check and nothing to serve"
    finding = Finding("PRO001", Severity.ERROR, message, consequence, fix, origin)
    return Document(origin.source, 0, None, (finding,))
