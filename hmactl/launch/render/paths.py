"""Files and directories that a deployment's processes look for, and what is known of them."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from hmactl.deployment.deployment import Deployment
from hmactl.launch.render.model import CarriedPath, Program
from hmactl.report.redact import holds_secret

Look = Callable[[str], CarriedPath | None]
"""A path as it is written to what is there on this machine, None where nothing is."""

_CONFIG_FILE = "LMCACHE_CONFIG_FILE"
_FILES = (".jinja", ".json", ".jsonl", ".yaml", ".yml", ".pem", ".crt", ".key", ".txt", ".py")
_KEY, _PRIVATE = ".key", "PRIVATE KEY-----"
# More does not fit into a ConfigMap.
_MOST = 512 * 1024
_OF_THE_SYSTEM = ("/", "/dev", "/proc", "/sys", "/etc", "/usr", "/bin", "/tmp")  # noqa: S108


def is_local(model: str) -> bool:
    """Whether a model is named by a path, wherever that is."""
    return model.startswith(("/", "./", "../"))


def look_from(directory: Path) -> Look:
    """Looks at paths as a process in that directory would."""

    def look(name: str) -> CarriedPath | None:
        if "/" not in name and not name.endswith(_FILES):
            return None
        path = posixpath.normpath(posixpath.join(str(directory), name))
        try:
            here = Path(path)
            if path in _OF_THE_SYSTEM or not here.exists():
                return None
            if here.is_dir():
                return CarriedPath(path, here=True, directory=True)
            return CarriedPath(path, _text(here), here=True) if here.is_file() else None
        except (OSError, ValueError):
            return None

    return look


def carried_paths(
    deployment: Deployment, engine: Program, look: Look, directory: str
) -> tuple[tuple[str, CarriedPath], ...]:
    """Each with its name as it is written: what the source itself holds, and what is here.

    A model that is named by a path is among them even if it is not here. ``directory`` is where
    relative paths start.
    """
    found = dict(_carried(deployment, engine, look))
    model = str(deployment.model.value)
    if is_local(model) and model not in found:
        path = posixpath.normpath(posixpath.join(directory, model))
        found[model] = CarriedPath(path, directory=True)
    return tuple((name, _guarded(path)) for name, path in found.items())


def _carried(
    deployment: Deployment, engine: Program, look: Look
) -> Iterator[tuple[str, CarriedPath]]:
    held = {file.path: file.text for file in deployment.files}
    for name in _names(engine):
        if name in held:
            yield name, CarriedPath(posixpath.normpath(name), held[name])
        elif (path := look(name)) is not None:
            yield name, path


def _names(engine: Program) -> Iterator[str]:
    """Arguments that may be paths, also behind a `=`, and LMCache's file."""
    for text in engine.arguments:
        if len(text) == 1 and isinstance(text[0], str):
            yield text[0].partition("=")[2] if text[0].startswith("--") else text[0]
    for name, value in engine.environment:
        if name == _CONFIG_FILE and len(value) == 1 and isinstance(value[0], str):
            yield value[0]


def _guarded(path: CarriedPath) -> CarriedPath:
    if path.directory or (path.text is None and not path.path.endswith(_KEY)):
        return path
    text = path.text or ""
    if path.path.endswith(_KEY) or _PRIVATE in text or holds_secret(text):
        return replace(path, text=None, secret=True)
    return path


def _text(path: Path) -> str | None:
    if path.stat().st_size > _MOST:
        return None
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
