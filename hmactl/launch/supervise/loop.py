"""One thread that waits for files and for points in time."""

import heapq
import itertools
import selectors
import time
from collections.abc import Callable

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Timer:
    """A call at a point in time, until it is cancelled."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Do not call any more."""
        self._callback = None

    def fire(self) -> None:
        """Call, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Loop:
    """Calls back when a file is ready or a time has come."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def close(self) -> None:
        """Forget everything that is watched."""
        self._selector.close()

    def watch(self, file: int, event: int, callback: Callable[[], None]) -> None:
        """Call whenever ``file`` is ready for ``event``; replaces what was watched of it."""
        if file in self._watched:
            self._selector.modify(file, event, callback)
        else:
            self._selector.register(file, event, callback)
        self._watched[file] = callback

    def unwatch(self, file: int) -> None:
        """Forget a file, which must still be open; one that is not watched is no error."""
        if self._watched.pop(file, None) is not None:
            self._selector.unregister(file)

    def later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call once, after that time."""
        timer = Timer(callback)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def turn(self) -> None:
        """Wait until something is ready or due, and make the calls for it."""
        wait = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
        for key, _events in self._selector.select(wait):
            # An earlier call may have closed this file, and even opened another of its number.
            callback = self._watched.get(key.fd)
            if callback is not None and callback is key.data:
                callback()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2].fire()
