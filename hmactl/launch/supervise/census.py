"""Which of our descendants belongs to which server, also when its parent is gone."""

import os
from collections.abc import Mapping

from hmactl.launch.supervise.processes import Process, below, living

UNKNOWN = "?"
_FOREIGN = ""


class Census:
    """Counts the descendants of this process, and remembers whose each one is.

    A server's process is known by its ancestry; by its session, which is that of the server
    unless it made one of its own; or by an earlier count, for one that did and lost its parent.
    Descendants that are there at the beginning are no server's and left alone: a script that
    becomes hmactl by ``exec`` may have started them.
    """

    def __init__(self) -> None:
        self._servers: dict[int, str] = {}
        self._seen: set[int] = set()
        self._owners = {_key(one): _FOREIGN for one in below(os.getpid(), living())}
        self._alone = not self._owners

    @property
    def seen(self) -> frozenset[int]:
        """The numbers of all processes of servers that were ever counted."""
        return frozenset(self._seen)

    def add(self, name: str, pid: int) -> None:
        """From now on there is a server of that name, and this is its first process."""
        self._servers[pid] = name
        self._seen.add(pid)

    def take(self) -> dict[str, list[Process]]:
        """The living processes by the name of their server.

        UNKNOWN has those of which nothing is known but that no one else can have started.
        """
        processes = living()
        found: dict[str, list[Process]] = {}
        owners = {}
        for process in below(os.getpid(), processes):
            owner = self._owner(process, processes)
            owners[_key(process)] = owner
            if owner != _FOREIGN:
                self._seen.add(process.pid)
                found.setdefault(owner, []).append(process)
        self._owners = {key: owner for key, owner in owners.items() if owner != UNKNOWN}
        return found

    def _owner(self, process: Process, processes: Mapping[int, Process]) -> str:
        at: Process | None = process
        while at is not None:
            for known in (
                self._owners.get(_key(at)),
                self._servers.get(at.pid),
                self._servers.get(at.session),
            ):
                if known is not None:
                    return known
            at = processes.get(at.parent)
        return UNKNOWN if self._alone else _FOREIGN


def _key(process: Process) -> tuple[int, int]:
    return process.pid, process.started
