"""Files and directories that a deployment names: there, readable, writable."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import in_process
from hmactl.launch.preconditions.problem import Problem

# Options of `vllm serve` whose value is a file that it reads when it starts.
_FILES = ("ssl-keyfile", "ssl-certfile", "ssl-ca-certs")
# These may also be a text or a name; only what can be nothing but a path is looked at.
_PERHAPS_FILES = ("chat-template", "tool-parser-plugin", "reasoning-parser-plugin")
_NO_PATH = frozenset("{}\n")
# In the order in which vLLM looks for weights: it takes one kind.
_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
_BESIDE = frozenset({"config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json"})
_MOST = 3
_ENDS = "vLLM ends when it starts"


def file_problems(
    facts: Facts, environment: Mapping[str, str], directory: Path
) -> Iterator[Problem]:
    """What of the named files this user cannot read or write.

    Relative paths are relative to ``directory``; ``environment`` is the server's.
    """
    yield from _model(str(facts.deployment.model.value), directory)
    for name in (*_FILES, *_PERHAPS_FILES):
        setting = facts.deployment.vllm_setting(name)
        if setting is None or not isinstance(setting.value, str):
            continue
        if name in _FILES or _is_path(setting.value):
            yield from _unreadable(f"`{name}`", directory / setting.value, _ENDS)
    yield from _download_directory(facts, directory)
    if in_process(facts) is not None:
        named = environment.get("LMCACHE_CONFIG_FILE")
        if named is not None:
            consequence = "LMCache does not start, and vLLM ends or serves without a cache"
            yield from _unreadable("`LMCACHE_CONFIG_FILE`", directory / named, consequence)
        yield from _lmcache_disks(facts, directory)


def disk_directories(facts: Facts) -> list[Path]:
    """LMCache's disk directories, as its loader has them."""
    settings = in_process(facts)
    value = None if settings is None else settings.values.get("local_disk")
    parts = str(value).split(",") if isinstance(value, str) else []
    return [Path(part.strip().removeprefix("file://")) for part in parts if part.strip()]


def existing(path: Path) -> Path:
    """The path, or the nearest directory above it that is there."""
    path = path.absolute()
    return next((one for one in (path, *path.parents) if one.exists()), Path("/"))


def _model(named: str, directory: Path) -> Iterator[Problem]:
    path = directory / named
    # A name of the hub is no directory, and what is no model was refused by the check.
    if not named or not path.is_dir():
        return
    files = list(path.iterdir())
    kinds = {file.suffix for file in files}
    weights = next((kind for kind in _WEIGHTS if kind in kinds), None)
    files = [one for one in files if one.name in _BESIDE or one.suffix == weights]
    bad = sorted(file.name for file in files if not os.access(file, os.R_OK))
    if bad:
        shown = ", ".join(bad[:_MOST]) + (
            f" and {len(bad) - _MOST} more" if len(bad) > _MOST else ""
        )
        yield Problem(
            f"files of the model in {path} cannot be read, or are links to nothing: {shown}",
            _ENDS,
            f"files that the user with id {os.geteuid()} may read, with what their links lead to",
            fatal=True,
        )


def _is_path(value: str) -> bool:
    return not _NO_PATH & set(value) and ("/" in value or value.endswith((".jinja", ".py")))


def _unreadable(name: str, path: Path, consequence: str) -> Iterator[Problem]:
    if os.access(path, os.R_OK) and not path.is_dir():
        return
    if path.is_dir():
        what = "is a directory"
    elif path.exists() or not os.access(existing(path), os.X_OK):
        what = f"cannot be read by the user with id {os.geteuid()}"
    else:
        what = "is not there"
    yield Problem(
        f"{name} is {path}, which {what}",
        consequence,
        "the right path, mounted where vLLM runs and readable",
        fatal=True,
    )


def _download_directory(facts: Facts, directory: Path) -> Iterator[Problem]:
    setting = facts.deployment.vllm_setting("download-dir")
    if setting is None or not isinstance(setting.value, str):
        return
    path = directory / setting.value
    if not os.access(existing(path), os.W_OK | os.X_OK):
        yield Problem(
            f"`download-dir` is {path}, where the user with id {os.geteuid()} may not write",
            "vLLM ends unless the whole model is there already",
            "a directory that it may write to",
            fatal=False,
        )


def _lmcache_disks(facts: Facts, directory: Path) -> Iterator[Problem]:
    for one in disk_directories(facts):
        path = directory / one
        there = existing(path)
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            continue
        if there == path and not there.is_dir():
            what = "is no directory"
        else:
            what = f"the user with id {os.geteuid()} may not write to"
        yield Problem(
            f"`local_disk` is {path}, which {what}",
            "LMCache does not start, and the server works without a cache",
            "a directory that it may write to",
            fatal=True,
        )
