"""Replace a file as a whole or not at all."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_NEW_FILE = 0o666


class ChangedError(Exception):
    """The file is no longer what it was when it was read."""


def replace_file(path: Path, data: bytes, *, expected: bytes | None = None) -> None:
    """Write ``data`` to a file beside it and move that into its place; its mode stays.

    Whoever reads meanwhile sees the old or the new content. A link stays one: what it leads to is
    replaced. With ``expected`` the file must still have that content (ChangedError). Raises OSError
    where it cannot be written.
    """
    target = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)
            os.fchmod(file.fileno(), _mode(target))
            file.flush()
            os.fsync(file.fileno())
        if expected is not None:
            _require(target, expected)
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _require(path: Path, expected: bytes) -> None:
    try:
        content = path.read_bytes()
    except OSError:
        content = None
    if content != expected:
        raise ChangedError(str(path))


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return _NEW_FILE & ~mask
