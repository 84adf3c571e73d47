"""Run the dry boot in a child process, and let nothing of it outlive its limits."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_DRYBOOT = Path(__file__).parent / "dryboot"
_POLL_SECONDS = 0.25
_TAIL_BYTES = 64 * 1024
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long (seconds) an answer may take, and how large (resident bytes) the child may get."""

    seconds: float = 600.0
    memory: int = 16 << 30


class DryBootFailedError(Exception):
    """The dry boot ended without an answer: crash, time limit or memory limit.

    ``stage`` is what it was doing, ``evidence`` the last lines that it printed.
    """

    def __init__(self, message: str, stage: str, evidence: tuple[str, ...]) -> None:
        super().__init__(message)
        self.stage = stage
        self.evidence = evidence


class DryBoot:
    """A child process that has the engine loaded and answers one request after the other.

    ``hello`` is what it loads the engine for. As a context manager it leaves nothing running.
    """

    def __init__(
        self,
        python: Path,
        hello: Mapping[str, Any],
        environment: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._stage = "start"
        self._buffer = b""
        self._asked = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._log_start = 0
        read, write = os.pipe()
        self._events = os.fdopen(read, "rb")
        try:
            self._child = subprocess.Popen(  # noqa: S603 - an argv of our own, no shell
                [str(python), str(_DRYBOOT), str(write)],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                pass_fds=[write],
                start_new_session=True,
            )
        except OSError:
            self._events.close()
            self._log.close()
            raise
        finally:
            os.close(write)
        self._send(hello)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def ask(
        self,
        request: Mapping[str, Any],
        *,
        on_stage: Callable[[str], None],
        on_ask: Callable[[str, dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """The answer to ``request``.

        Raises DryBootFailedError; the child then has to be ended, for it may still be busy.
        """
        deadline = time.monotonic() + self._limits.seconds
        self._log_start = self._log.seek(0, os.SEEK_END)
        self._asked += 1
        self._send({**request, "id": self._asked})
        for event in self._receive(deadline):
            match event["event"]:
                case "stage":
                    self._stage = event["stage"]
                    on_stage(event["stage"])
                case "ask":
                    self._send(on_ask(event["question"], event["facts"]))
                case "answer":
                    answer: dict[str, Any] = event["answer"]
                    return answer
                case "crashed" if event["id"] == self._asked:
                    raise self._crashed(event["status"])
        try:
            status = self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            raise self._failed("closed its answer without giving one") from None
        raise self._crashed(status)

    def end(self) -> None:
        """End its whole process group, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
        self._events.close()
        self._log.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._child.stdin is None:
            return
        # A child that died says why in its log, and its end of file is seen next.
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()

    def _receive(self, deadline: float) -> Iterator[dict[str, Any]]:
        """Events as they come, until the child closes the stream."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while True:
                while b"\n" in self._buffer:
                    line, _, self._buffer = self._buffer.partition(b"\n")
                    yield json.loads(line)
                self._check_limits(deadline)
                if selector.select(_POLL_SECONDS):
                    chunk = os.read(self._events.fileno(), 1 << 20)
                    if not chunk:
                        return
                    self._buffer += chunk

    def _crashed(self, status: int) -> DryBootFailedError:
        if status < 0:
            return self._failed(f"was ended by {signal.Signals(-status).name}")
        return self._failed(f"ended with exit status {status}")

    def _check_limits(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise self._failed(f"gave no answer within {self._limits.seconds:g} s")
        used = _resident_bytes(self._child.pid)
        if used > self._limits.memory:
            raise self._failed(
                f"used {used / 2**30:.1f} GiB, more than its limit of "
                f"{self._limits.memory / 2**30:.1f} GiB"
            )

    def _failed(self, what: str) -> DryBootFailedError:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(self._log_start, size - _TAIL_BYTES))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        return DryBootFailedError(what, self._stage, tuple(filter(None, map(str.rstrip, lines))))


def _resident_bytes(session: int) -> int:
    """Resident memory of all processes of that session; 0 where /proc does not tell."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21]) * _PAGE_SIZE
    return total
