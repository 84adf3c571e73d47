"""The engine that is started is the one that was checked."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from hmactl.engine.find import Distribution, Engine
from hmactl.launch.preconditions.problem import Problem

Identity = tuple[tuple[Path, tuple[int, int, int] | None], ...]
"""Files of an engine, each with what tells one state of it from another; None: it is not there."""


def identity(engine: Engine) -> Identity:
    """What is to be the same at the start as at the check: interpreter, script, installations."""
    files = [engine.python.resolve()]
    if engine.vllm_script is not None:
        files.append(engine.vllm_script)
    if engine.vllm_package is not None:
        files += [engine.vllm_package / "__init__.py", engine.vllm_package / "_version.py"]
    for distribution in (engine.vllm, engine.lmcache, engine.torch, engine.transformers):
        files += _records(distribution)
    return tuple((file, _state(file)) for file in files)


def changed_engine(checked: Identity) -> Iterator[Problem]:
    """A problem if a file of the engine is another one than when it was checked."""
    changed = [str(file) for file, then in checked if _state(file) != then]
    if changed:
        yield Problem(
            f"the engine was changed while it was checked: {', '.join(changed[:3])}",
            "what would start is not what was checked",
            "start it again when the installation is finished",
            fatal=True,
        )


def _records(distribution: Distribution | None) -> Iterator[Path]:
    """What an installer writes last: the list of the installed files."""
    if distribution is None:
        return
    name = distribution.name.replace("-", "_")
    for directory in distribution.location.glob(f"{name}-*.dist-info"):
        yield directory / "RECORD"


def _state(file: Path) -> tuple[int, int, int] | None:
    with contextlib.suppress(OSError):
        status = file.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None
