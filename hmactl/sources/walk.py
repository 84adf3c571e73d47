"""The files to lint under a directory, without what git ignores."""

import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hmactl.sources.selection import Selection

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SUFFIXES = frozenset(
    {
        *(".yaml", ".yml", ".json", ".sh", ".bash", ".zsh", ".sbatch", ".slurm"),
        *(".service", ".dockerfile", ".containerfile", ".env"),
    }
)
_NAMES = ("Dockerfile*", "Containerfile*", "*.Dockerfile")
_NEVER = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"})
_SHEBANG = b"#!"


@dataclass(slots=True)
class _Ignored:
    """The .gitignore files from the top down to a directory."""

    specs: "list[tuple[Path, GitIgnoreSpec]]" = field(default_factory=list)

    def below(self, directory: Path) -> "_Ignored":
        try:
            lines = (directory / ".gitignore").read_text("utf-8", "replace").splitlines()
        except OSError:
            return self
        from pathspec import GitIgnoreSpec

        return _Ignored([*self.specs, (directory, GitIgnoreSpec.from_lines(lines))])

    def hides(self, path: Path, *, is_directory: bool) -> bool:
        for base, spec in reversed(self.specs):
            name = path.relative_to(base).as_posix() + ("/" if is_directory else "")
            if (ignored := spec.check_file(name).include) is not None:
                return ignored
        return False


def files_in(directory: Path, selection: Selection) -> Iterator[Path]:
    """The files to lint in a directory and below it, sorted; links are not followed."""
    try:
        whole = directory.resolve()
    except (OSError, RuntimeError):
        return
    yield from _walk(directory, whole, _above(whole), selection)


def _above(whole: Path) -> _Ignored:
    """The .gitignore files above a directory, up to the top of its repository."""
    found = _Ignored()
    parents = [whole, *whole.parents]
    top = next((i for i, parent in enumerate(parents) if (parent / ".git").exists()), 0)
    for parent in reversed(parents[1 : top + 1]):
        found = found.below(parent)
    return found


def _walk(shown: Path, whole: Path, ignored: _Ignored, selection: Selection) -> Iterator[Path]:
    ignored = ignored.below(whole)
    try:
        entries = sorted(os.scandir(whole), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name, path = shown / entry.name, whole / entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name in _NEVER or ignored.hides(path, is_directory=is_directory):
            continue
        if is_directory:
            if not _matches(name, selection.exclude):
                yield from _walk(name, path, ignored, selection)
        elif entry.is_file(follow_symlinks=False) and _is_selected(name, selection):
            yield name


def _is_selected(path: Path, selection: Selection) -> bool:
    if _matches(path, selection.exclude):
        return False
    if selection.include:
        return _matches(path, selection.include)
    if path.suffix.lower() in _SUFFIXES or any(fnmatch.fnmatch(path.name, n) for n in _NAMES):
        return True
    return not path.suffix and _is_script(path)


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == _SHEBANG
    except OSError:
        return False


def _matches(path: Path, patterns: Sequence[str]) -> bool:
    text = path.as_posix()
    return any(
        fnmatch.fnmatch(text, pattern)
        or fnmatch.fnmatch(text, f"*/{pattern}")
        or fnmatch.fnmatch(path.name, pattern)
        for pattern in patterns
    )
