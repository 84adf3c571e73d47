"""How many bytes are stored outside the GPU, where that can be asked."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hmactl.deployment.deployment import LMCacheServer
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import SERVED, in_process, is_served
from hmactl.launch.ports import lmcache_http_port
from hmactl.launch.verify.server import NoAnswerError, Server, server_url

_LARGEST_TREE = 200_000
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes in use, and the objects that they are."""

    bytes: int
    objects: int


@dataclass(frozen=True, slots=True)
class LMCacheTier:
    """The host memory of an `lmcache server`, by its ``/status``, which it has since 0.5.1 or
    before."""

    server: Server

    @property
    def name(self) -> str:
        """For people."""
        return f"the LMCache server at {self.server.url}"

    def stored(self) -> Stored | None:
        """What it has now; None where it does not say."""
        try:
            status = self.server.json("/status")
        except NoAnswerError:
            return None
        managers = list(_managers(status))
        if not managers:
            return None
        return Stored(
            sum(one["memory_used_bytes"] for one in managers),
            sum(one["total_object_count"] for one in managers),
        )


def _managers(status: Any) -> Iterator[dict[str, int]]:
    storage = status.get("storage_manager") if isinstance(status, dict) else None
    if not isinstance(storage, dict):
        return
    several = storage.get("l1_managers")
    found = list(several.values()) if isinstance(several, dict) else [storage.get("l1_manager")]
    for one in found:
        if isinstance(one, dict) and all(
            isinstance(one.get(name), int) for name in ("memory_used_bytes", "total_object_count")
        ):
            yield one


@dataclass(frozen=True, slots=True)
class DiskTier:
    """A directory of this machine, such as LMCache's ``local_disk``."""

    directory: Path

    @property
    def name(self) -> str:
        """For people."""
        return str(self.directory)

    def stored(self) -> Stored | None:
        """The files in it; None where it cannot be read or has too many to count."""
        size = files = 0
        try:
            for path, _directories, names in os.walk(self.directory, onerror=_refuse):
                files += len(names)
                size += sum((Path(path) / name).lstat().st_size for name in names)
                if files > _LARGEST_TREE:
                    return None
        except OSError:
            return None
        return Stored(size, files)


def _refuse(error: OSError) -> None:
    raise error


Tier = LMCacheTier | DiskTier


def planned_tier(facts: Facts, server: Server) -> Tier | None:
    """Where a deployment stores outside the GPU; None where that cannot be asked from here.

    A directory is asked for only where its server runs on this machine.
    """
    described = facts.deployment.lmcache_server
    if is_served(facts):
        return None if described is None else _described(facts, described)
    settings = in_process(facts)
    directory = None if settings is None else settings.values.get("local_disk")
    if isinstance(directory, str) and directory and server.is_local:
        return DiskTier(Path(directory.removeprefix("file://")))
    return None


def _described(facts: Facts, described: LMCacheServer) -> Tier | None:
    connector = facts.connector
    hosts = [
        str(one.extra_config.get("lmcache.mp.host", "localhost"))
        for one in (() if connector is None else connector.walk())
        if one.name == SERVED
    ]
    if not hosts:
        return None
    text = hosts[0]
    host = urlsplit(text if "://" in text else f"tcp://{text}").hostname or _HOST
    try:
        return LMCacheTier(Server(server_url(f"http://{host}:{lmcache_http_port(described)}")))
    except ValueError:
        return None
