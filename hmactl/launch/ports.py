"""The TCP ports that a deployment's processes will listen on, and whether they are free."""

import contextlib
import errno
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hmactl.deployment.deployment import Deployment, LMCacheServer
from hmactl.deployment.setting import Json
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import in_process, number, option_number
from hmactl.facts.lmcache_memory import ranks_on_one_host
from hmactl.launch.address import serve_address

# Of `lmcache server` and of NixlConnector, unless they are told otherwise.
_SERVER_PORT, _SERVER_HTTP_PORT, _SIDE_CHANNEL_PORT = 5555, 8080, 5600
_LOOPBACK = "127.0.0.1"
# LMCache's lists of ports, one for each worker.
_LISTS = (
    ("enable_p2p", ("p2p_init_ports", "p2p_lookup_ports")),
    ("enable_controller", ("lmcache_worker_ports",)),
    ("enable_pd", ("pd_peer_init_port", "pd_peer_alloc_port")),
)
_SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"
_LISTENING = "0A"
_HIGHEST = 65535


@dataclass(frozen=True, slots=True)
class Port:
    """A port that a process will listen on. ``who`` is that process, ``setting`` what changes it.

    ``host`` is the address that it binds, "" for all of them. Without ``needed`` vLLM goes on if it
    cannot be had, and what wanted it does not work.
    """

    number: int
    who: str
    setting: str
    host: str = ""
    needed: bool = True


def engine_ports(facts: Facts, environment: Mapping[str, str]) -> Iterator[Port]:
    """Those of ``vllm serve`` and of what LMCache opens inside it on this host.

    ``environment`` is the server's whole environment.
    """
    if (address := serve_address(facts.deployment)) is not None:
        bound, number_of = address
        yield Port(number_of, "vLLM", "`port`", bound)
    workers = ranks_on_one_host(facts)
    settings = in_process(facts)
    if settings is not None:
        for switch, keys in _LISTS:
            for key in keys if settings.values.get(switch) else ():
                yield from _listed(settings.values.get(key), key, workers)
        start = number(settings.values.get("internal_api_server_port_start"))
        if (
            settings.values.get("internal_api_server_enabled")
            and start
            and not (settings.values.get("internal_api_server_socket_path_prefix"))
        ):
            # The scheduler has the first, each worker one of the next.
            for offset in range(workers + 1):
                name = "`internal_api_server_port_start`"
                yield Port(int(start) + offset, "LMCache in vLLM", name, needed=False)
    if "NixlConnector" in facts.connector_classes:
        base = option_number(environment.get(_SIDE_CHANNEL, _SIDE_CHANNEL_PORT))
        if base:
            host = environment.get("VLLM_NIXL_SIDE_CHANNEL_HOST", _LOOPBACK)
            yield Port(int(base), "NixlConnector", f"`{_SIDE_CHANNEL}`", host, needed=False)


def lmcache_server_ports(deployment: Deployment) -> Iterator[Port]:
    """Those of the ``lmcache server`` that a profile describes; none where it describes none."""
    server = deployment.lmcache_server
    if server is None:
        return
    for prefix, default in (("", _SERVER_PORT), ("http-", _SERVER_HTTP_PORT)):
        setting, host = (server.option(f"{prefix}{name}") for name in ("port", "host"))
        value = option_number(default if setting is None else setting.value)
        if value:
            name = f"`{prefix}port` under `lmcache_server:`"
            address = _LOOPBACK if host is None else str(host.value)
            yield Port(int(value), "the LMCache server", name, address)


def lmcache_http_port(server: LMCacheServer | None) -> Json:
    """The HTTP port of an ``lmcache server`` as it is written, else its default."""
    setting = None if server is None else server.option("http-port")
    return _SERVER_HTTP_PORT if setting is None else setting.value


def why_not_free(port: Port) -> str | None:
    """Why a process of ours could not listen on it, as half a sentence; None where it could.

    An address that cannot be resolved or that this machine does not have is a reason, too.
    """
    if not 0 < port.number <= _HIGHEST:
        return f"{port.number} is no port"
    family = socket.AF_INET6 if ":" in port.host else socket.AF_INET
    with socket.socket(family) as probe:
        # As servers do, so that connections that were just closed are no reason.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.host, port.number))
            probe.listen()
        except socket.gaierror:
            return f"`{port.host}` is no address"
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                holder = _holder(port.number)
                return f"port {port.number} is taken" + ("" if holder is None else f" by {holder}")
            if error.errno == errno.EACCES:
                return f"this user may not listen on port {port.number}"
            if error.errno == errno.EADDRNOTAVAIL:
                return f"this machine does not have the address {port.host}"
            return f"port {port.number}: {error.strerror}"
    return None


def _listed(value: object, key: str, workers: int) -> Iterator[Port]:
    ports = value if isinstance(value, list) else []
    for entry in ports[:workers]:
        if isinstance(entry, int) and entry > 0:
            yield Port(entry, "LMCache in vLLM", f"`{key}`", needed=False)


def _holder(port: int) -> str | None:
    """Who listens on it, as far as this user may see: a process's name and id."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for entry in (process / "fd").iterdir():
                if str(entry.readlink()) in inodes:
                    name = (process / "comm").read_text("utf-8", "replace").strip()
                    return f"{name} (process {process.name})"
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]
