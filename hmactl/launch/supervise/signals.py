"""Signals as events of the loop."""

import contextlib
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType

from hmactl.launch.supervise.loop import READ, Loop

STOP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""What asks for a stop."""
PASSED_ON = frozenset({signal.SIGUSR1, signal.SIGUSR2})
"""What is meant for the engine, whatever it makes of it."""


@contextlib.contextmanager
def caught_signals(loop: Loop, on_signal: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Have the loop call ``on_signal`` for signals of this process, SIGCHLD among them.

    Nothing stays blocked or ignored, because a child would inherit that: a shell starts jobs in
    the background with SIGINT ignored, and vLLM could then not be interrupted. Only SIGHUP stays
    ignored where it was, which is what ``nohup`` is for. Afterwards a stop is not asked for any
    more: nothing but the exit is left, and it must not be disturbed.
    """
    # The bytes of the wakeup file are not counted on: under a flood of SIGCHLD some are lost.
    seen: deque[int] = deque()

    def remember(number: int, _frame: FrameType | None) -> None:
        seen.append(number)

    reading, writing = socket.socketpair()

    def tell() -> None:
        with contextlib.suppress(BlockingIOError):
            while reading.recv(4096):
                pass
        while seen:
            on_signal(signal.Signals(seen.popleft()))

    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        for number in (*STOP, *PASSED_ON, signal.SIGCHLD):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, remember)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        loop.watch(reading.fileno(), READ, tell)
        try:
            yield
        finally:
            loop.unwatch(reading.fileno())
            for number in (*STOP, *PASSED_ON):
                signal.signal(number, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
