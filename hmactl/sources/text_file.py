"""A file that a setting names, read without waiting and without trusting it."""

import os
import stat
from pathlib import Path

MAX_BYTES = 1 << 20


def read_text(path: Path) -> str | None:
    """The text of a regular file of at most 1 MiB; None where there is none.

    Never raises for what a path can name, and never waits for data.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        data = read_start(path, MAX_BYTES + 1)
        return data.decode() if len(data) <= MAX_BYTES else None
    except (OSError, ValueError):  # ValueError: a NUL in the path, or no text
        return None


def read_start(path: Path, size: int) -> bytes:
    """The first ``size`` bytes of a file that was a regular one a moment ago.

    Never waits for data. Raises OSError, and ValueError for a NUL in the path.
    """
    # Should a FIFO have taken the file's place by now, this does not wait for its writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
        return file.read(size)
