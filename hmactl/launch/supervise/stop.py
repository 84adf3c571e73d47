"""Ending servers in order, with everything that they started."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence

from hmactl.launch.supervise.census import UNKNOWN, Census
from hmactl.launch.supervise.child import Child
from hmactl.launch.supervise.loop import Loop, Timer
from hmactl.launch.supervise.processes import Process

# vLLM may ignore SIGTERM for a minute and more while it starts.
_UNHEALTHY_SECONDS = 5.0
_HURRIED_SECONDS = 2.0
# Processes that outlive their server get this long to notice, then SIGTERM, then this long to obey.
_NOTICE_SECONDS = 1.0
_OBEY_SECONDS = 5.0
# Python's resource trackers get this long after SIGKILL to remove shared memory.
_TRACKER_SECONDS = 2.0
# What has not gone by then waits in the kernel, and no signal reaches it.
_GONE_SECONDS = 10.0
_LOOK_SECONDS = 0.1

Say = Callable[[str], None]


class Stop:
    """Stops servers in the given order: each with all its processes before the next.

    SIGTERM goes to a server's first process, which then stops in order. What is left when its time
    is over is killed. Only descendants of this process are ever signalled.
    """

    def __init__(self, loop: Loop, census: Census, children: Sequence[Child], say: Say) -> None:
        self._loop = loop
        self._census = census
        self._steps: list[_ServerStep | _LastStep]
        self._steps = [*(_ServerStep(child, say) for child in children), _LastStep(say)]
        self._hurried_at: float | None = None
        self._timer: Timer | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to be stopped."""
        return not self._steps

    def hurry(self) -> None:
        """Give nobody more than two seconds any more."""
        self._hurried_at = time.monotonic()
        self.look()

    def look(self) -> None:
        """Do what is due. Comes again by itself until nothing is left."""
        if self._timer is not None:
            self._timer.cancel()
        members = self._census.take()
        now = time.monotonic()
        latest = None if self._hurried_at is None else self._hurried_at + _HURRIED_SECONDS
        while self._steps and self._steps[0].take(members, now, latest):
            self._steps.pop(0)
        if self._steps:
            self._timer = self._loop.later(_LOOK_SECONDS, self.look)


class _ServerStep:
    """The stop of one server."""

    def __init__(self, child: Child, say: Say) -> None:
        self._child = child
        self._say = say
        self._asked = False
        self._gone_at: float | None = None
        self._reminded = False
        self._kill_at = float("inf")
        self._killing: _Killing | None = None

    def take(self, members: dict[str, list[Process]], now: float, latest: float | None) -> bool:
        """Do what is due; whether nothing of the server is left, or nothing more can be done.

        ``latest`` is when to kill although there would be more time.
        """
        own = members.get(self._child.service.name, [])
        if self._child.status is None:
            self._ask(now)
        elif not own:
            return True
        elif self._gone_at is None:
            self._gone_at = now
            self._kill_at = now + _NOTICE_SECONDS + _OBEY_SECONDS
        elif not self._reminded and now >= self._gone_at + _NOTICE_SECONDS:
            self._reminded = True
            _send(signal.SIGTERM, own)
        if now < (self._kill_at if latest is None else min(self._kill_at, latest)):
            return False
        if self._killing is None:
            title = self._child.service.title
            if self._child.status is None:
                self._say(f"{title} has not ended in time and is killed")
            else:
                self._say(f"{title} has left {_named(own)} behind, which must be killed")
            self._killing = _Killing(now, self._say)
        if self._child.status is None and not own:
            # Not visible, or dead and not yet reaped: its number is still its own.
            return self._killing.kill_group(self._child.pid, now)
        return self._killing.take(own, now)

    def _ask(self, now: float) -> None:
        if self._asked:
            return
        self._asked = True
        service = self._child.service
        grace = service.stop_seconds
        if not self._child.healthy:
            grace = min(grace, _UNHEALTHY_SECONDS)
        self._kill_at = now + grace
        os.kill(self._child.pid, signal.SIGTERM)


class _LastStep:
    """The end of processes whose server is not known, and of those that outlived theirs."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._killing: _Killing | None = None

    def take(self, members: dict[str, list[Process]], now: float, _latest: float | None) -> bool:
        """As for a server."""
        left = members.get(UNKNOWN, [])
        if self._killing is None:
            self._killing = _Killing(now, self._say)
        return not left or self._killing.take(left, now)


class _Killing:
    """SIGKILL for processes until they are gone, or have not gone for ten seconds."""

    def __init__(self, now: float, say: Say) -> None:
        self._began = now
        self._say = say

    def take(self, processes: Sequence[Process], now: float) -> bool:
        """Kill who is there; whether nobody is, or nothing more can be done."""
        if not processes:
            return True
        if now > self._began + _GONE_SECONDS:
            self._say(f"{_named(processes)} could not be killed and must be looked at")
            return True
        spare = now < self._began + _TRACKER_SECONDS
        _send(signal.SIGKILL, (one for one in processes if not (spare and one.tracks_resources)))
        return False

    def kill_group(self, leader: int, now: float) -> bool:
        """Kill the group of a process of which nothing else is known; whether that is given up."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
        return now > self._began + _GONE_SECONDS


def _send(number: signal.Signals, processes: Iterable[Process]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def _named(processes: Sequence[Process]) -> str:
    numbers = ", ".join(str(process.pid) for process in processes)
    return f"process {numbers}" if len(processes) == 1 else f"processes {numbers}"
