"""Our own output, which must never make a server wait for ever."""

import contextlib
import os
import select
import time
from collections import deque
from collections.abc import Callable

from hmactl.launch.supervise.loop import WRITE, Loop, Timer

# A pipe that is ready takes this much without blocking (PIPE_BUF).
_CHUNK = 4096
_ENOUGH = 256 * 1024
_STUCK_SECONDS = 10.0


class Outlet:
    """Writes to a file descriptor whenever that takes something.

    While more than 256 KiB wait it is ``full``, and who writes should hold back. When nobody has
    read anything for ten seconds, what waits is thrown away and counted, and so is what comes
    until somebody reads again. A closed one swallows everything.
    """

    def __init__(self, loop: Loop, file: int) -> None:
        self._loop = loop
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._lost = 0
        self._closed = False
        self._within_line = False
        self._watchdog: Timer | None = None
        self._moved_at = 0.0
        self._holding_back: list[Callable[[], None]] = []

    @property
    def full(self) -> bool:
        """Whether what is written now should rather wait."""
        return self._size > _ENOUGH and not self._lost

    def write(self, data: bytes) -> None:
        """Take whole lines, or parts of one."""
        if self._closed or not data:
            return
        if self._lost and self._waiting:
            self._lost += len(data)
            return
        self._within_line = not data.endswith(b"\n")
        self._waiting.extend(data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))
        self._size += len(data)
        self._flush()

    def write_line(self, text: str) -> None:
        """Take a line of our own, which begins a new one whatever stands there."""
        start = "\n" if self._within_line else ""
        self.write(f"{start}{text}\n".encode(errors="replace"))

    def when_room(self, callback: Callable[[], None]) -> None:
        """Call once, as soon as this is no longer full."""
        self._holding_back.append(callback)

    def drain(self, seconds: float) -> None:
        """Write what waits, at the end, for at most about that long."""
        deadline = time.monotonic() + seconds
        while self._waiting and self._ready(max(0.0, deadline - time.monotonic())):
            self._flush()
        self._close()

    def _flush(self) -> None:
        while self._waiting and self._ready(0):
            chunk = self._waiting[0]
            try:
                written = os.write(self._file, chunk)
            except BlockingIOError:
                break
            except OSError:
                # Nobody reads any more: a server does not end for that.
                self._close()
                return
            self._size -= written
            if written < len(chunk):
                self._waiting[0] = chunk[written:]
            else:
                self._waiting.popleft()
            self._moved()
        if not self._waiting:
            self._forget()
        elif self._watchdog is None:
            # A regular file cannot be waited for and never has to be.
            with contextlib.suppress(PermissionError):
                self._loop.watch(self._file, WRITE, self._flush)
            self._moved_at = time.monotonic()
            self._watchdog = self._loop.later(_STUCK_SECONDS, self._look)

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([], [self._file], [], seconds)[1])

    def _moved(self) -> None:
        self._moved_at = time.monotonic()
        if self._lost:
            note = f"\nhmactl: {self._lost} bytes of output were lost: nobody read it\n".encode()
            self._lost = 0
            self._waiting.append(note)
            self._size += len(note)
        if not self.full:
            self._tell_room()

    def _look(self) -> None:
        """Throw away what waits, when nothing has moved for too long."""
        idle = time.monotonic() - self._moved_at
        if idle < _STUCK_SECONDS:
            self._watchdog = self._loop.later(_STUCK_SECONDS - idle, self._look)
            return
        self._watchdog = None
        # The first chunk stays: with it the end of the standstill is seen.
        while len(self._waiting) > 1:
            chunk = self._waiting.pop()
            self._size -= len(chunk)
            self._lost += len(chunk)
        self._tell_room()

    def _tell_room(self) -> None:
        waiting, self._holding_back = self._holding_back, []
        for callback in waiting:
            callback()

    def _close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._size = 0
        self._forget()
        self._tell_room()

    def _forget(self) -> None:
        self._loop.unwatch(self._file)
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None
