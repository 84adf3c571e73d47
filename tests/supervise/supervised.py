"""A supervisor in a test: started with fake servers, waited for, and held to leave nothing."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conftest import processes_with

_HERE = Path(__file__).parent
SHM = Path("/dev/shm")


def server(
    name: object, *options: object, port: int | None = None, path: str = "", **more: Any
) -> dict[str, Any]:
    """A fake server for `supervising`; with ``port`` it is asked there whether it is healthy."""
    argv = [sys.executable, "-I", "-S", str(_HERE / "fake_server.py"), *map(str, options)]
    if port is not None:
        argv += ["--port", str(port)]
    if path:
        argv += ["--healthy-path", path]
    return {"name": name, "argv": argv, "port": port, **more}


def free_ports(count: int) -> list[int]:
    """TCP ports on 127.0.0.1 that nobody listens on, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Supervised:
    """A supervisor that runs; its output is in two files."""

    def __init__(
        self,
        directory: Path,
        services: Sequence[dict[str, Any]],
        prefix: Sequence[str],
        stdout: int | None,
        **more: Any,
    ) -> None:
        self.directory = directory
        spec = directory / "spec.json"
        scratch = str(directory / "scratch")
        spec.write_text(json.dumps({"services": services, "scratch": scratch, **more}))
        # The path of a socket must be short.
        self.sockets = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))
        env = {**os.environ, "MARKER": str(directory), "TMPDIR": str(self.sockets)}
        # Others may have shared memory of LMCache on this machine, too.
        env["OF_TEST"] = str(os.getpid())
        with self._file("stdout").open("wb") as out, self._file("stderr").open("wb") as err:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, str(_HERE / "driver.py"), str(spec)],
                stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=err,
                env=env,
                start_new_session=True,
            )

    @property
    def stdout(self) -> str:
        return self._file("stdout").read_bytes().decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self._file("stderr").read_text(errors="replace")

    def wait_for(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Raises AssertionError with the output where it does not come true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{self.stdout}\n{self.stderr}"
            time.sleep(0.01)

    def says(self, text: str, seconds: float = 20) -> None:
        """Wait until it says so on stderr."""
        self.wait_for(lambda: text in self.stderr, seconds)

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def status(self, seconds: float = 30) -> int:
        """The exit status; nothing may be left of it."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end\n{self.stdout}\n{self.stderr}") from None
        assert "Traceback" not in self.stderr, self.stderr
        assert processes_with(str(self.directory)) == [], self.stderr
        assert list(self.sockets.iterdir()) == []
        self.sockets.rmdir()
        assert list(SHM.glob(f"lmcache_kv_*_{os.getpid()}")) == []
        assert list(SHM.glob(f"lmcache_l1_pool_*{os.getpid()}")) == []
        return status

    def _file(self, name: str) -> Path:
        return self.directory / name


@contextlib.contextmanager
def supervising(
    directory: Path,
    *services: dict[str, Any],
    prefix: Sequence[str] = (),
    stdout: int | None = None,
    **more: Any,
) -> Iterator[Supervised]:
    """Supervise; what is left after a failed test is killed.

    ``prefix`` is a command that becomes the supervisor, ``stdout`` a file descriptor for it.
    """
    supervised = Supervised(directory, services, prefix, stdout, **more)
    try:
        yield supervised
    finally:
        for pid in [supervised.process.pid, *processes_with(str(directory))]:
            if pid != supervised.process.pid or supervised.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        supervised.process.wait()
        shutil.rmtree(supervised.sockets, ignore_errors=True)
