"""The files that a container is told about, by whatever path."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from hmactl.deployment.files import TextFile
from hmactl.sources.container.mounts import Mount, mounted_files
from hmactl.sources.given import ReadFile

_RELATIVE = re.compile(r"(?<![\w./$}-])(?:\./)?\w[\w./-]*\.(?:ya?ml|json|sh|env)(?![\w-])")
_MOST_NAMES = 50


def files_of(
    mounts: Sequence[Mount],
    texts: Iterable[str],
    working: str,
    read_file: ReadFile,
    carried: Iterable[TextFile] = (),
) -> tuple[TextFile, ...]:
    """The files that the texts mention, by paths from the root or from ``working``.

    ``carried`` are files whose content is there already, by their paths from the root; mounted ones
    lie on top of them.
    """
    told = [*texts]
    found = {file.path: file for file in (*carried, *mounted_files(mounts, told, read_file))}
    relative = dict.fromkeys(match[0] for text in told for match in _RELATIVE.finditer(text))
    for name in islice(relative, _MOST_NAMES):
        path = posixpath.normpath(posixpath.join(working, name))
        mounted = {file.path: file for file in mounted_files(mounts, [path], read_file)}
        file = mounted.get(path) or found.get(path)
        if file is not None:
            found.setdefault(name, replace(file, path=name))
    return tuple(found.values())
