"""A server that is to be started, as the supervisor sees it."""

from collections.abc import Mapping
from dataclasses import dataclass

from hmactl.launch.supervise.health import Health


@dataclass(frozen=True, slots=True)
class Service:
    """A server: its whole argv and environment, and how it is known to be healthy.

    ``name`` stands in front of its output, ``title`` in sentences. ``start_seconds`` is how long it
    may take to become healthy, ``stop_seconds`` how long after SIGTERM it may take to end. Without
    ``health`` nobody can tell, and it counts as healthy at once.
    """

    name: str
    title: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    health: Health | None
    start_seconds: float
    stop_seconds: float
