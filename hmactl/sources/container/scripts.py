"""Files that a container is told about by a relative path, and scripts that it runs."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from hmactl.deployment.files import TextFile
from hmactl.sources.container.mounts import Mount, mounted_files
from hmactl.sources.given import ReadFile
from hmactl.sources.process.word import Word

_RELATIVE = re.compile(r"(?<![\w./$}-])(?:\./)?\w[\w./-]*\.(?:ya?ml|json|sh|env)(?![\w-])")
_MOST_NAMES = 50
_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_SHEBANG = re.compile(r"#!\s*/\S*?(?:/|env\s+)(?:ba|da|a)?sh\b")


def files_of(
    mounts: Sequence[Mount], texts: Iterable[str], working: str, read_file: ReadFile
) -> tuple[TextFile, ...]:
    """The files that the texts mention, by paths from the root or from ``working``."""
    told = [*texts]
    found = {file.path: file for file in mounted_files(mounts, told, read_file)}
    relative = dict.fromkeys(match[0] for text in told for match in _RELATIVE.finditer(text))
    for name in islice(relative, _MOST_NAMES):
        path = posixpath.normpath(posixpath.join(working, name))
        for file in mounted_files(mounts, [path], read_file):
            if file.path == path:
                found.setdefault(name, replace(file, path=name))
    return tuple(found.values())


def with_script(
    argv: tuple[Word, ...], files: Sequence[TextFile], working: str
) -> tuple[Word, ...]:
    """The command, with the text of a script in the script's place where it is one of the files."""
    at = 1 if argv and argv[0].text.rpartition("/")[2] in _SHELLS else 0
    if len(argv) <= at or not argv[at].known:
        return argv
    word = argv[at]
    path = posixpath.normpath(posixpath.join(working, word.text))
    file = next((f for f in files if posixpath.join(working, f.path) == path), None)
    if file is None or not (at == 1 or file.path.endswith(".sh") or _SHEBANG.match(file.text)):
        return argv
    shell = replace(word, text="bash", places=None)
    script = Word(file.text, file.places.at(0), places=file.places)
    return (shell, replace(shell, text="-c"), script, word, *argv[at + 1 :])
