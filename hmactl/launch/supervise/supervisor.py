"""Start servers one after the other, watch them, and end them in the reverse order."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence

from hmactl.launch.supervise.census import Census
from hmactl.launch.supervise.child import Child
from hmactl.launch.supervise.ending import (
    Ending,
    companion_ended,
    engine_ended,
    exit_status,
    not_started,
    too_slow,
)
from hmactl.launch.supervise.health import Probe
from hmactl.launch.supervise.loop import Loop, Timer
from hmactl.launch.supervise.outlet import Outlet
from hmactl.launch.supervise.service import Service
from hmactl.launch.supervise.signals import PASSED_ON, STOP, caught_signals
from hmactl.launch.supervise.stop import Stop

_CENSUS_SECONDS = 10.0
# One Ctrl-C can come twice: from the terminal, and passed on by a program above us.
_SAME_SIGNAL_SECONDS = 1.0

OnLine = Callable[[str, str], None]


class Supervisor:
    """Runs services: each is started when the one before it is healthy; the last is the engine.

    When one ends, or a signal asks for it, all are stopped, the engine first. Nothing is restarted.
    """

    def __init__(
        self,
        loop: Loop,
        services: Sequence[Service],
        outlets: tuple[Outlet, Outlet],
        on_line: OnLine,
    ) -> None:
        self._loop = loop
        self._services = services
        self._outlets = outlets
        self._on_line = on_line
        self.census = Census()
        self._children: list[Child] = []
        self._ending: Ending | None = None
        self._stop: Stop | None = None
        self._asked_at: float | None = None
        self._counting: Timer | None = None

    def run(self) -> Ending:
        """Until the last process is gone."""
        with caught_signals(self._loop, self._on_signal):
            self._count()
            self._start_next()
            while self._stop is None or not self._stop.done:
                self._loop.turn()
            for child in self._children:
                child.finish_output()
        assert self._ending is not None  # noqa: S101 - for the type checker
        return self._ending

    def say(self, sentence: str) -> None:
        """Tell the operator, on standard error."""
        self._outlets[1].write_line(f"hmactl: {sentence}")

    def _start_next(self) -> None:
        service = self._services[len(self._children)]
        prefix = f"[{service.name}] " if len(self._services) > 1 else ""
        try:
            child = Child(
                self._loop,
                service,
                self._outlets,
                prefix,
                lambda line: self._on_line(service.name, line),
            )
        except OSError as error:
            self._end(not_started(service, error.strerror or str(error)))
            return
        self._children.append(child)
        self.census.add(service.name, child.pid)
        self.say(f"started {service.title}, process {child.pid}")
        began = time.monotonic()
        if service.health is None:
            self._healthy(child, began)
            return
        child.probe = Probe(self._loop, service.health, lambda: self._healthy(child, began))
        child.late = self._loop.later(service.start_seconds, lambda: self._late(child))

    def _healthy(self, child: Child, began: float) -> None:
        child.healthy = True
        child.quiet()
        self.census.take()
        if child.service.health is not None:
            seconds = time.monotonic() - began
            self.say(f"{child.service.title} is healthy after {seconds:.0f} s")
        if len(self._children) < len(self._services):
            self._start_next()

    def _late(self, child: Child) -> None:
        self._end(too_slow(child.service))

    def _on_signal(self, number: signal.Signals) -> None:
        if number in STOP:
            self._asked(number)
        elif number in PASSED_ON:
            if len(self._children) == len(self._services) and self._children[-1].status is None:
                os.kill(self._children[-1].pid, number)
        else:
            self._reap()

    def _asked(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._stop is None:
            self.say(f"{number.name}: stopping")
            self._end(Ending(128 + number, asked=True))
        elif self._asked_at is None or now - self._asked_at > _SAME_SIGNAL_SECONDS:
            self.say(f"{number.name}: stopping without further delay")
            self._stop.hurry()
        self._asked_at = now

    def _reap(self) -> None:
        """Everybody who ended: servers, and as process 1 or subreaper whatever they left."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, code = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                for child in self._children:
                    if child.pid == pid and child.status is None:
                        child.ended(os.waitstatus_to_exitcode(code))
                        self._ended(child)
        if self._stop is not None:
            self._stop.look()

    def _ended(self, child: Child) -> None:
        assert child.status is not None  # noqa: S101 - for the type checker
        is_engine = child.service is self._services[-1]
        if self._ending is None:
            how = engine_ended if is_engine else companion_ended
            self._end(how(child.service, child.status, healthy=child.healthy))
        elif is_engine and self._ending.asked:
            self._ending = Ending(exit_status(child.status), asked=True)

    def _end(self, ending: Ending) -> None:
        if self._ending is not None:
            return
        self._ending = ending
        if ending.sentence is not None:
            self.say(ending.sentence)
        for child in self._children:
            child.quiet()
        if self._counting is not None:
            self._counting.cancel()
        self._stop = Stop(self._loop, self.census, self._children[::-1], self.say)
        self._stop.look()

    def _count(self) -> None:
        self.census.take()
        self._counting = self._loop.later(_CENSUS_SECONDS, self._count)
