"""Where source is: a wheel, or a directory that holds a package. What is in it is never run."""

import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from hmactl.catalogue.source.modules import Sources

_LARGEST_FILE = 8 << 20
_MOST_TO_READ = 256 << 20
_MOST_FILES = 200_000
_VERSION = re.compile(
    r"^(?:__version__|version)\b[^'\"\n]*=\s*['\"]([0-9][^'\"]*)['\"]", re.MULTILINE
)


class PlaceError(Exception):
    """A path holds no source that can be read; the text says why, for an operator."""


@dataclass(frozen=True, slots=True)
class Place:
    """A package's source and its version, None where nothing tells it."""

    sources: Sources
    version: str | None


@contextmanager
def open_place(package: str, path: Path) -> Iterator[Place]:
    """The package in a wheel, in a checkout, in a site-packages, or its own directory.

    Raises PlaceError where there is none, or where it is not what a package looks like.
    """
    try:
        if path.is_dir():
            yield _directory(package, path)
        elif not path.exists():
            raise PlaceError(f"{path} does not exist")
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield _archive(package, path, archive)
        else:
            raise PlaceError(f"{path} is neither a directory nor a wheel")
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
        raise PlaceError(f"{path} cannot be read: {error}") from None


class _Budget:
    """How much may be unpacked or read altogether."""

    def __init__(self) -> None:
        self._left = _MOST_TO_READ

    def spend(self, name: str, size: int) -> None:
        if size > _LARGEST_FILE:
            raise PlaceError(f"{name} is larger than {_LARGEST_FILE >> 20} MiB: that is no source")
        self._left -= size
        if self._left < 0:
            raise PlaceError(f"more than {_MOST_TO_READ >> 20} MiB of source: that is no package")


def _archive(package: str, path: Path, archive: zipfile.ZipFile) -> Place:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) > _MOST_FILES:
        raise PlaceError(f"{path} has more than {_MOST_FILES:,} files: that is no wheel")
    names = {name for name in members if name.startswith(f"{package}/")}
    if f"{package}/__init__.py" not in names:
        raise PlaceError(f"{path} has no package `{package}`")
    budget = _Budget()

    def read(name: str) -> str | None:
        if name not in members:
            return None
        budget.spend(name, members[name].file_size)
        # The size that a member claims is its author's word.
        with archive.open(members[name]) as file:
            content = file.read(_LARGEST_FILE + 1)
        budget.spend(name, max(0, len(content) - members[name].file_size))
        return content.decode("utf-8", "replace")

    metadata = next((n for n in members if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)), None)
    version = None if metadata is None else HeaderParser().parsestr(read(metadata) or "")["Version"]
    return Place(Sources(package, read, names), version or _own_version(package, read))


def _directory(package: str, path: Path) -> Place:
    parent = next((p for p in (path, path / "src") if _is_package(p / package)), None)
    if parent is None and path.resolve().name == package and _is_package(path):
        parent = path.resolve().parent
    if parent is None:
        raise PlaceError(f"{path} has no package `{package}`")
    root = (parent / package).resolve()
    budget = _Budget()

    def read(name: str) -> str | None:
        file = _regular(root, root.joinpath(*PurePosixPath(name).parts[1:]))
        if file is None:
            return None
        budget.spend(name, file.stat().st_size)
        with file.open("rb") as opened:
            return opened.read(_LARGEST_FILE).decode("utf-8", "replace")

    names = list(_names(package, root))
    return Place(
        Sources(package, read, names), _installed(package, parent) or _own_version(package, read)
    )


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()


def _regular(root: Path, path: Path) -> Path | None:
    """The file itself; None for a link that leads out of the tree, a pipe or a device."""
    try:
        real = path.resolve()
        regular = stat.S_ISREG(real.stat().st_mode)
    except (OSError, RuntimeError):
        return None
    return real if regular and real.is_relative_to(root) else None


def _names(package: str, root: Path) -> Iterator[str]:
    count = 0
    for directory, folders, files in os.walk(root, followlinks=False):
        folders[:] = [f for f in folders if f != "__pycache__"]
        for file in files:
            if file.endswith((".py", ".so")) and _regular(root, Path(directory, file)):
                count += 1
                if count > _MOST_FILES:
                    raise PlaceError(f"{root} has more than {_MOST_FILES:,} files of source")
                below = Path(directory, file).relative_to(root)
                yield f"{package}/{below.as_posix()}"


def _installed(package: str, parent: Path) -> str | None:
    """The version beside an installed package."""
    pattern = re.compile(rf"{package}(?:_cpu)?-([0-9][^-]*)\.dist-info", re.IGNORECASE)
    found = filter(None, (pattern.fullmatch(p.name) for p in sorted(parent.iterdir())))
    return next((match[1] for match in found), None)


def _own_version(package: str, read: Callable[[str], str | None]) -> str | None:
    """The version that a build has written into the package; a checkout has none."""
    for name in ("_version.py", "version.py"):
        match = _VERSION.search(read(f"{package}/{name}") or "")
        if match:
            return match[1]
    return None
