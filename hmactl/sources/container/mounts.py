"""What a container finds at a path because a file or a directory of the host is mounted there."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from hmactl.deployment.files import TextFile
from hmactl.sources.given import ReadFile

_PATH = r"[\w./+@-]*"
_MOST_FILES = 20
_MOST_MOUNTS = 100


@dataclass(frozen=True, slots=True)
class Mount:
    """``source`` is the path on the host, ``target`` the one in the container."""

    source: str
    target: str


def mounted_files(
    mounts: Iterable[Mount], texts: Iterable[str], read_file: ReadFile
) -> tuple[TextFile, ...]:
    """The files that are mounted and that the container is told about.

    ``texts`` is what it is told: values of variables, words of its command. A path in one of them
    is looked for where it is mounted from; what is not mentioned is not read.
    """
    told = [*texts]
    found: dict[str, TextFile] = {}
    for mount in islice(mounts, _MOST_MOUNTS):
        target = posixpath.normpath(mount.target)
        for path in _mentioned(target, told):
            inside = path.removeprefix(target)
            file = read_file(mount.source.rstrip("/") + inside)
            if file is not None:
                found[path] = replace(file, path=path)
            if len(found) >= _MOST_FILES:
                return tuple(found.values())
    return tuple(found.values())


def _mentioned(target: str, texts: Iterable[str]) -> Iterator[str]:
    """The paths in the texts that are the target or lie in it."""
    if target in {"/", "."}:
        return
    form = re.compile(rf"(?<![\w./-]){re.escape(target)}(?:/{_PATH})?(?![\w.-])")
    seen = set()
    for text in texts:
        for match in form.finditer(text):
            path = posixpath.normpath(match[0])
            if path not in seen and f"{path}/".startswith(f"{target}/"):
                seen.add(path)
                yield path
