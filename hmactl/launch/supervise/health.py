"""Asking a server whether it is healthy, without waiting for it."""

import contextlib
import itertools
import socket
from collections.abc import Callable
from dataclasses import dataclass

from hmactl.launch.supervise.loop import READ, WRITE, Loop, Timer

_ATTEMPT_SECONDS = 5.0
# Between two attempts; the first pauses are shorter.
_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 0.05, 0.5
_MAX_ANSWER = 4096


@dataclass(frozen=True, slots=True)
class Health:
    """Where a server says that it is healthy: ``GET`` of a path, by HTTP on a local TCP port.

    ``paths`` are where it may be, depending on the server's release. Without any it counts as
    healthy once it takes connections: TLS, or no HTTP at all. ``host`` is an address or a name.
    """

    host: str
    port: int
    paths: tuple[str, ...]

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.paths[0]}" if self.paths else f"{host}:{self.port}"


class Probe:
    """Asks again and again until the server is healthy, then calls ``on_healthy`` once."""

    def __init__(self, loop: Loop, health: Health, on_healthy: Callable[[], None]) -> None:
        self._loop = loop
        self._health = health
        self._on_healthy = on_healthy
        self._socket: socket.socket | None = None
        self._paths = itertools.cycle(health.paths or ("",))
        self._answer = b""
        self._pause = _FIRST_PAUSE_SECONDS
        self._timer: Timer = loop.later(0, self._attempt)

    def stop(self) -> None:
        """Ask no more."""
        self._timer.cancel()
        self._close()

    def _attempt(self) -> None:
        self._close()
        self._timer = self._loop.later(_ATTEMPT_SECONDS, self._attempt)
        self._answer = b""
        try:
            family, kind, protocol, _name, address = socket.getaddrinfo(
                self._health.host, self._health.port, type=socket.SOCK_STREAM
            )[0]
            asking = self._socket = socket.socket(family, kind, protocol)
            asking.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                asking.connect(address)
        except OSError:
            self._again()
            return
        self._loop.watch(asking.fileno(), WRITE, self._connected)

    def _connected(self) -> None:
        assert self._socket is not None  # noqa: S101 - for the type checker
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._again()
        elif not (path := next(self._paths)):
            self._healthy()
        else:
            # The socket is new and the request short: it takes all of it.
            request = f"GET {path} HTTP/1.0\r\nHost: {self._health.host}\r\n\r\n"
            try:
                self._socket.send(request.encode())
            except OSError:
                self._again()
                return
            self._loop.watch(self._socket.fileno(), READ, self._read)

    def _read(self) -> None:
        assert self._socket is not None  # noqa: S101 - for the type checker
        try:
            data = self._socket.recv(_MAX_ANSWER)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._answer += data
        status, ended, _rest = self._answer.partition(b"\r\n")
        if ended and status.startswith(b"HTTP/") and status.split()[1:2] == [b"200"]:
            self._healthy()
        elif ended or not data or len(self._answer) > _MAX_ANSWER:
            self._again()

    def _healthy(self) -> None:
        self.stop()
        self._on_healthy()

    def _again(self) -> None:
        self._close()
        self._timer.cancel()
        self._timer = self._loop.later(self._pause, self._attempt)
        self._pause = min(2 * self._pause, _PAUSE_SECONDS)

    def _close(self) -> None:
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None
