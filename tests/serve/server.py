"""A real server in a test: started, waited for, asked, and ended with everything it started."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# A proxy that the environment names must not be asked for 127.0.0.1.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServerFailed(Exception):  # noqa: N818 - what a test sees when the server did not come up
    """The server ended or was too slow; the text has the end of its log."""


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One server process in a session of its own, its output in two files in ``directory``.

    ``port`` is the one that ``argv`` makes it listen on. As a context manager it leaves nothing
    running.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], port: int, directory: Path
    ) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._logs = [directory / "stdout.log", directory / "stderr.log"]
        directory.mkdir(parents=True, exist_ok=True)
        with (
            self._logs[0].open("wb") as stdout,
            self._logs[1].open("wb") as stderr,
            _default_signals(),
        ):
            self._process = subprocess.Popen(
                list(argv),
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kill()

    @property
    def pid(self) -> int:
        """Also the id of its process group and session."""
        return self._process.pid

    def wait_healthy(self, seconds: float) -> float:
        """Wait until /health answers 200; returns the seconds it took.

        Raises ServerFailed as soon as the process ends, or at the deadline.
        """
        started = time.monotonic()
        while time.monotonic() < started + seconds:
            status = self._process.poll()
            if status is not None:
                raise ServerFailed(f"the server ended with {status}\n{self._tail()}")
            if self._healthy():
                return time.monotonic() - started
            time.sleep(0.2)
        raise ServerFailed(f"no /health within {seconds:g} s\n{self._tail()}")

    def complete(self, model: str, prompt: str, *, max_tokens: int = 4) -> dict[str, Any]:
        """The answer of /v1/completions, always with ``max_tokens`` tokens and greedy.

        Raises ServerFailed with the server's own words where it answers with an error.
        """
        request = urllib.request.Request(
            f"{self.url}/v1/completions",
            json.dumps(
                {
                    "model": model,
                    "prompt": prompt,
                    "max_tokens": max_tokens,
                    "temperature": 0,
                    "ignore_eos": True,
                }
            ).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with _OPENER.open(request, timeout=120) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            raise ServerFailed(f"{error.code}: {text}\n{self._tail()}") from error

    def grep(self, pattern: str) -> list[str]:
        """The lines of its output that a regular expression is found in, stdout's first."""
        return [line for line in self._lines() if re.search(pattern, line)]

    def session(self) -> list[int]:
        """The ids of the processes that live in its session, itself included."""
        return sorted(_session_members(self.pid))

    def leftovers(self, seconds: float = 10.0) -> list[int]:
        """Who still lives in its session after that time, or nobody as soon as nobody does.

        Python's resource tracker ends a moment after the process that it tracks for.
        """
        deadline = time.monotonic() + seconds
        while (left := self.session()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def stop(self, grace: float = 20.0) -> int:
        """SIGTERM, then after ``grace`` seconds SIGKILL to its group; returns the exit status,
        which is negative for a signal."""
        self._process.terminate()
        try:
            return self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._process.wait()

    def wait(self, seconds: float) -> int:
        """The exit status of a server that ends by itself. Raises ServerFailed at the deadline."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"still there after {seconds:g} s\n{self._tail()}") from None

    def _kill(self) -> None:
        # Members of the session first: a worker may have made a process group of its own.
        for pid in [*_session_members(self.pid), self.pid]:
            if pid != self.pid or self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _healthy(self) -> bool:
        try:
            with _OPENER.open(f"{self.url}/health", timeout=5) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False

    def _lines(self) -> list[str]:
        texts = [path.read_text(errors="replace") for path in self._logs]
        return [line for text in texts for line in text.splitlines()]

    def _tail(self) -> str:
        tails = [path.read_text(errors="replace").splitlines()[-30:] for path in self._logs]
        return "\n".join(line for tail in tails for line in tail)


@contextlib.contextmanager
def _default_signals() -> Iterator[None]:
    """Start with SIGINT and SIGHUP as a terminal would have them.

    A test run in the background of a shell ignores them, and a child inherits that; vLLM then
    cannot be interrupted while it starts.
    """
    ignored = [s for s in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(s) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _session_members(session: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # The name in parentheses may have spaces and parentheses in it.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            state, its_session = fields[0], int(fields[3])
            if its_session == session and state not in "ZX":
                yield int(entry.name)
