"""One started server: its first process, and its output."""

import os
import subprocess
from collections.abc import Callable
from typing import IO

from hmactl.launch.supervise.health import Probe
from hmactl.launch.supervise.kernel import dying_with_parent
from hmactl.launch.supervise.loop import Loop, Timer
from hmactl.launch.supervise.outlet import Outlet
from hmactl.launch.supervise.relay import Relay
from hmactl.launch.supervise.service import Service


class Child:
    """A running server. ``status`` is its first process's, as waitpid gives it, once it ended."""

    def __init__(
        self,
        loop: Loop,
        service: Service,
        outlets: tuple[Outlet, Outlet],
        prefix: str,
        on_line: Callable[[str], None],
    ) -> None:
        """Raises OSError where the program cannot be started."""
        self.service = service
        self.status: int | None = None
        self.healthy = service.health is None
        self.probe: Probe | None = None
        self.late: Timer | None = None
        # A session of its own: Ctrl-C at a terminal is for us, and its group can be told apart.
        self._process = subprocess.Popen(  # noqa: S603 - no shell is the point
            list(service.argv),
            env=dict(service.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=dying_with_parent(),  # noqa: PLW1509 - this process has one thread
        )
        pipes = (self._process.stdout, self._process.stderr)
        self._relays = [
            # The relay closes its end itself.
            Relay(loop, _detached(pipe), outlet, prefix, on_line)
            for pipe, outlet in zip(pipes, outlets, strict=True)
        ]

    @property
    def pid(self) -> int:
        """The number of its first process, also of its session."""
        return self._process.pid

    def ended(self, status: int) -> None:
        """Its first process was reaped; ``status`` is negative for a signal."""
        self.status = self._process.returncode = status
        self.quiet()

    def quiet(self) -> None:
        """Ask no more whether it is healthy."""
        if self.probe is not None:
            self.probe.stop()
        if self.late is not None:
            self.late.cancel()

    def finish_output(self) -> None:
        """Pass on what is left of its output."""
        for relay in self._relays:
            relay.finish()


def _detached(pipe: IO[bytes] | None) -> int:
    assert pipe is not None  # noqa: S101 - for the type checker
    file = os.dup(pipe.fileno())
    pipe.close()
    return file
