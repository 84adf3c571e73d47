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
from typing import IO, Any

_DRYBOOT = Path(__file__).parent / "dryboot"
_POLL_SECONDS = 0.25
_TAIL_BYTES = 64 * 1024
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long (seconds) and how large (resident bytes of the whole process group) it may get."""

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


def converse(
    python: Path,
    request: Mapping[str, Any],
    environment: Mapping[str, str],
    *,
    limits: Limits,
    on_stage: Callable[[str], None],
    on_ask: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Start the dry boot with ``request`` and return its answer.

    Raises DryBootFailedError. The child's whole process group is gone when this returns or raises.
    """
    read, write = os.pipe()
    with tempfile.TemporaryFile() as log, os.fdopen(read, "rb") as events:
        try:
            child = subprocess.Popen(  # noqa: S603 - an argv of our own, no shell
                [str(python), str(_DRYBOOT), str(write)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                pass_fds=[write],
                start_new_session=True,
            )
        finally:
            os.close(write)
        conversation = _Conversation(child, log, limits)
        try:
            conversation.send(request)
            for event in conversation.events(events):
                match event["event"]:
                    case "stage":
                        conversation.stage = event["stage"]
                        on_stage(event["stage"])
                    case "ask":
                        conversation.send(on_ask(event["question"], event["facts"]))
                    case "answer":
                        answer: dict[str, Any] = event["answer"]
                        return answer
            raise conversation.crashed()
        finally:
            _end_group(child)


class _Conversation:
    def __init__(self, child: subprocess.Popen[bytes], log: IO[bytes], limits: Limits) -> None:
        self._child = child
        self._log = log
        self._limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self.stage = "start"

    def send(self, message: Mapping[str, Any]) -> None:
        if self._child.stdin is None:
            return
        # A child that died says why in its log, and its end of file is seen next.
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()

    def events(self, stream: IO[bytes]) -> Iterator[dict[str, Any]]:
        """Events as they come, until the child closes the stream."""
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                self._check_limits()
                if not selector.select(_POLL_SECONDS):
                    continue
                chunk = os.read(stream.fileno(), 1 << 20)
                if not chunk:
                    return
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)

    def crashed(self) -> DryBootFailedError:
        try:
            status = self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self._failed("closed its answer without giving one")
        if status < 0:
            name = signal.Signals(-status).name
            return self._failed(f"was ended by {name}")
        return self._failed(f"ended with exit status {status}")

    def _check_limits(self) -> None:
        if time.monotonic() > self._deadline:
            raise self._failed(f"gave no answer within {self._limits.seconds:g} s")
        used = _resident_bytes(self._child.pid)
        if used > self._limits.memory:
            raise self._failed(
                f"used {used / 2**30:.1f} GiB, more than its limit of "
                f"{self._limits.memory / 2**30:.1f} GiB"
            )

    def _failed(self, what: str) -> DryBootFailedError:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _TAIL_BYTES))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        return DryBootFailedError(what, self.stage, tuple(filter(None, map(str.rstrip, lines))))


def _resident_bytes(session: int) -> int:
    """Resident memory of all processes of that session; 0 where /proc does not tell."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21]) * _PAGE_SIZE
    return total


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
