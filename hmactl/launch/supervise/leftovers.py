"""Shared memory that LMCache's processes leave in /dev/shm, and the sockets of vLLM's."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

SHM = Path("/dev/shm")  # noqa: S108 - that is what it is about

# CpuShmTensorWrapper.SHM_NAME_PREFIX and the process's number, in LMCache 0.5.6.
_OF_A_PROCESS = re.compile(r"lmcache_kv_(\d+)_\d+\Z")
# engine_context.py of LMCache 0.5.6 puts this before what --shm-name says.
_POOL = "lmcache_l1_pool_"
# A Unix socket's address has 107 bytes; vLLM adds a slash and a UUID of 36.
_LONGEST_DIRECTORY = 107 - 37


class SharedMemory:
    """The files of our own processes in a directory of shared memory, and no others.

    A file is ours if it came after this was made, belongs to this user, no living process maps
    it, and its name has the number of a process of ours, or is the pool that was asked for.
    """

    def __init__(self, pool: str | None, directory: Path = SHM) -> None:
        self._directory = directory
        self._pool = None if not pool else _POOL + pool.lstrip("/").removeprefix(_POOL)
        self._before = {(name, file.st_ino) for name, file in self._files()}

    def remove(self, pids: Collection[int]) -> list[str]:
        """Remove what processes of those numbers have left; the names."""
        ours = [
            name
            for name, file in self._files()
            if (name, file.st_ino) not in self._before and file.st_uid == os.getuid()
            if name == self._pool or _number(name) in pids
        ]
        if not ours:
            return []
        mapped = set(_mapped(str(self._directory)))
        removed = [name for name in ours if name not in mapped]
        for name in removed:
            with contextlib.suppress(OSError):
                (self._directory / name).unlink()
        return sorted(removed)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._directory):
                if entry.name.startswith("lmcache_"):
                    with contextlib.suppress(OSError):
                        yield entry.name, entry.stat(follow_symlinks=False)


def socket_directory(fallback: Path) -> Path | None:
    """A new directory for vLLM's Unix sockets; None where nothing can be written or paths are long.

    vLLM leaves its sockets behind when it is killed. ``fallback`` is used where the directory for
    temporary files cannot be written to.
    """
    for find in (tempfile.gettempdir, lambda: _made(fallback)):
        with contextlib.suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix="hmactl-", dir=find()))
            if len(os.fsencode(made)) <= _LONGEST_DIRECTORY:
                return made
            made.rmdir()
    return None


def remove_directory(directory: Path) -> None:
    """Remove a directory of ``socket_directory`` with what is in it."""
    shutil.rmtree(directory, ignore_errors=True)


def _made(directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory)


def _number(name: str) -> int | None:
    found = _OF_A_PROCESS.match(name)
    return None if found is None else int(found[1])


def _mapped(directory: str) -> Iterator[str]:
    """The names in a directory that a living process has mapped."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            for line in maps.read_text(errors="replace").splitlines():
                path = line.partition("/")[2]
                if path and ("/" + path).startswith(directory + "/"):
                    yield ("/" + path).removeprefix(directory + "/")
