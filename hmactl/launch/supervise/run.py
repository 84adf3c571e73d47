"""The supervised run as a whole: the servers, and what is left when they are gone."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hmactl.launch.failures import FailureLog
from hmactl.launch.failures_text import render_failures
from hmactl.launch.out_of_memory import out_of_memory
from hmactl.launch.supervise.ending import Ending
from hmactl.launch.supervise.kernel import adopt_orphans
from hmactl.launch.supervise.leftovers import (
    SharedMemory,
    remove_directory,
    socket_directory,
)
from hmactl.launch.supervise.loop import Loop
from hmactl.launch.supervise.outlet import Outlet
from hmactl.launch.supervise.service import Service
from hmactl.launch.supervise.supervisor import Supervisor

_SOCKETS = "VLLM_RPC_BASE_PATH"
_DRAIN_SECONDS = 2.0


def supervise(
    services: Sequence[Service],
    *,
    outputs: tuple[int, int],
    scratch: Path,
    pool: str | None,
    style: Callable[[str, str], str],
) -> Ending:
    """Run ``services`` until the engine, the last of them, has ended, and the others after it.

    ``outputs`` are the file descriptors for what the servers write to stdout and stderr. What is to
    be said comes on the second: what leaves the servers without their cache as soon as they say so,
    and the known causes of a failure at the end, in ``style``.
    ``scratch`` is where a directory may be made if the one for temporary files takes none; ``pool``
    is the name of shared memory that the LMCache server was given.
    """
    log, memory_before = FailureLog(), out_of_memory()
    memory = SharedMemory(pool)
    sockets = None
    *companions, engine = services

    def hear(who: str, line: str) -> None:
        log.feed(who, line)
        for cause in log.news():
            supervisor.say(f"{cause.title}: {cause.consequence}")

    if _SOCKETS not in engine.environment:
        sockets = socket_directory(scratch)
    if sockets is not None:
        environment = {**engine.environment, _SOCKETS: str(sockets)}
        engine = replace(engine, environment=environment)
    try:
        with contextlib.closing(Loop()) as loop:
            outlets = Outlet(loop, outputs[0]), Outlet(loop, outputs[1])
            supervisor = Supervisor(loop, [*companions, engine], outlets, hear)
            if not adopt_orphans():
                supervisor.say("the kernel does not let hmactl adopt orphans; some may stay behind")
            ending = supervisor.run()
            removed = memory.remove(supervisor.census.seen)
            if removed:
                supervisor.say(f"removed from /dev/shm what was left there: {', '.join(removed)}")
            if ending.died is not None:
                log.ended(*ending.died)
            if (where := out_of_memory().since(memory_before)) is not None:
                log.ran_out_of_memory(where)
            if not ending.asked and (causes := render_failures(log, style)):
                outlets[1].write_line(causes)
            for outlet in outlets:
                outlet.drain(_DRAIN_SECONDS)
    finally:
        if sockets is not None:
            remove_directory(sockets)
    return ending
