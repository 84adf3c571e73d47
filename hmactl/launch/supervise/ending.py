"""How a supervised run ended: the exit status, and why in one sentence."""

import signal
from dataclasses import dataclass

from hmactl.launch.supervise.service import Service


@dataclass(frozen=True, slots=True)
class Ending:
    """``status`` is what the supervisor exits with; ``sentence`` says why, unless all is as asked.

    ``asked``: a signal asked for the stop. ``died`` is the server that ended by itself, with its
    own status, negative for a signal.
    """

    status: int
    sentence: str | None = None
    asked: bool = False
    died: tuple[str, int] | None = None


def exit_status(status: int) -> int:
    """A process's status as a shell gives it: 128 and the number for a signal."""
    return 128 - status if status < 0 else status


def engine_ended(service: Service, status: int, *, healthy: bool) -> Ending:
    """The engine is gone although nobody asked it to go.

    ``vllm serve`` exits with 0 when its engine core dies while it serves (measured with 0.32.0), so
    0 is a failure, too.
    """
    sentence = _how(service.title, status, healthy=healthy)
    died = service.name, status
    if status:
        return Ending(exit_status(status), sentence, died=died)
    return Ending(
        1,
        f"{sentence} although nobody had asked it to end; that is how it ends when its engine core "
        "dies, so hmactl exits with 1",
        died=died,
    )


def companion_ended(service: Service, status: int, *, healthy: bool) -> Ending:
    """A server that the engine needs is gone."""
    return Ending(
        1,
        f"{_how(service.title, status, healthy=healthy)}; without it the engine has no cache, so "
        "all is stopped",
        died=(service.name, status),
    )


def too_slow(service: Service) -> Ending:
    """A server did not become healthy in time."""
    return Ending(
        1,
        f"{service.title} was not healthy within {service.start_seconds:g} s (asked at "
        f"{service.health}), so all is stopped; --start-timeout gives it longer",
    )


def not_started(service: Service, reason: str) -> Ending:
    """A server's program cannot be run."""
    return Ending(2, f"{service.title} cannot be started: {service.argv[0]}: {reason}")


def _how(title: str, status: int, *, healthy: bool) -> str:
    when = "" if healthy else " before it was healthy"
    if status >= 0:
        return f"{title} ended by itself{when}, with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{title} was ended by {name}{when}, which hmactl did not send"
