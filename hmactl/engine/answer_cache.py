"""Answers of earlier dry boots, kept on disk under everything that can change them."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmactl import __version__
from hmactl.engine.find import Engine

MOST_ANSWERS = 512
_LARGEST_HASHED = 4 << 20  # bytes
# Variables that the engine, its libraries or its plugins may read.
_PREFIXES = (
    *("CUDA_", "FLASHINFER_", "HF_", "HMACTL_", "LMCACHE_"),
    *("NCCL_", "PYTHON", "TORCH", "VLLM_"),
)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A directory of answers. None of its methods raises for what the disk does.

    Safe under concurrent runs: an answer appears whole or not at all. Bounded: beyond
    MOST_ANSWERS the ones longest unused go.
    """

    directory: Path

    def get(self, key: str) -> dict[str, Any] | None:
        """The answer under that key, if there is one that can be read."""
        path = self._path(key)
        try:
            answer: dict[str, Any] = json.loads(path.read_text("utf-8"))
            os.utime(path)
        except (OSError, ValueError):
            return None
        return answer

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; where that is not possible, there is none to be found later."""
        with contextlib.suppress(OSError):
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(answer, file)
                Path(name).replace(self._path(key))
            except OSError:
                Path(name).unlink(missing_ok=True)
            self._forget_oldest()

    def clear(self) -> int:
        """Forget everything; returns how many answers there were."""
        paths = self._answers()
        for path in [*paths, *self.directory.glob(".new-*")]:
            with contextlib.suppress(OSError):
                path.unlink()
        return len(paths)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def _answers(self) -> list[Path]:
        return list(self.directory.glob("*.json"))

    def _forget_oldest(self) -> None:
        paths = self._answers()
        if len(paths) <= MOST_ANSWERS:
            return
        with contextlib.suppress(OSError):
            paths.sort(key=lambda path: path.stat().st_mtime)
        for path in paths[:-MOST_ANSWERS]:
            with contextlib.suppress(OSError):
                path.unlink()


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where answers are kept: ``hmactl/answers`` under XDG_CACHE_HOME or ~/.cache."""
    home = Path(environment.get("HOME") or "~").expanduser()
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "hmactl" / "answers"


def answer_key(
    engine: Engine,
    request: Mapping[str, Any],
    model_directory: Path | None,
    environment: Mapping[str, str],
) -> str | None:
    """A digest of everything that can change the answer.

    None where something can that is not known here: code or files that the request names by path.
    """
    arguments = [a for flag in request["flags"] for a in flag["arguments"]] + request["extra"]
    if any(_names_a_file(argument) for argument in arguments):
        return None
    parts = {
        "hmactl": __version__,
        "engine": _identity(engine),
        "request": {k: v for k, v in request.items() if k != "model_directory"},
        "model": None if model_directory is None else content_of(model_directory),
        "environment": {
            k: v
            for k, v in sorted(environment.items())
            if k.startswith(_PREFIXES) and k != "VLLM_CACHE_ROOT"
        },
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _names_a_file(argument: str) -> bool:
    if "module_path" in argument:
        return True
    value = argument.partition("=")[2] or argument
    if value.startswith("{"):
        return "/" in value and any(map(_exists, _strings(value)))
    return not value.startswith("-") and _exists(value)


def _strings(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return [text]
    found: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _identity(engine: Engine) -> list[str]:
    installed = (engine.vllm, engine.lmcache, engine.torch, engine.transformers, engine.nixl)
    identity = [str(engine.python), engine.python_version, *engine.broken_media]
    identity += [f"{d.name} {d.version} {d.location}" for d in installed if d is not None]
    for package in (engine.vllm_package, Path(__file__).parent / "dryboot"):
        if package is None:
            continue
        # An edited source tree has the same version as before, and other times.
        newest = max((p.stat().st_mtime_ns for p in package.glob("*.py")), default=0)
        identity.append(f"{package} {newest}")
    return identity


def content_of(directory: Path) -> list[str]:
    """What tells two model directories apart: their files, the small ones by digest."""
    content = []
    for path in sorted(directory.iterdir()):
        if not path.is_file():
            continue
        size = path.stat().st_size
        digest = ""
        if path.suffix in {".json", ".py", ".txt"} and size <= _LARGEST_HASHED:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        content.append(f"{path.name} {size} {digest}")
    return content
