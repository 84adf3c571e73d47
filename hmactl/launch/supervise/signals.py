"""Signals as events of the loop."""

import signal
import socket
from collections import deque
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

from hmactl.launch.supervise.loop import READ, Loop

STOP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""What asks for a stop."""
PASSED_ON = frozenset({signal.SIGUSR1, signal.SIGUSR2})
"""What is meant for the engine, whatever it makes of it."""


class Signals:
    """Takes over the signals of this process for as long as it is entered.

    Nothing stays blocked or ignored, because a child would inherit that: a shell starts jobs in
    the background with SIGINT ignored, and vLLM could then not be interrupted. Only SIGHUP stays
    ignored where it was, which is what ``nohup`` is for. Afterwards a stop is not asked for any
    more: nothing but the exit is left, and it must not be disturbed.
    """

    def __init__(self, loop: Loop, on_signal: Callable[[signal.Signals], None]) -> None:
        self._loop = loop
        self._on_signal = on_signal
        self._seen: deque[int] = deque()
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        for number in (*STOP, *PASSED_ON, signal.SIGCHLD):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            signal.signal(number, self._remember)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self._loop.watch(self._reading.fileno(), READ, self._tell)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.unwatch(self._reading.fileno())
        for number in (*STOP, *PASSED_ON):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        self._reading.close()
        self._writing.close()

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        # The bytes of the wakeup file are not counted on: under a flood of SIGCHLD some are lost.
        self._seen.append(number)

    def _tell(self) -> None:
        try:
            while self._reading.recv(4096):
                pass
        except BlockingIOError:
            pass
        while self._seen:
            self._on_signal(signal.Signals(self._seen.popleft()))
