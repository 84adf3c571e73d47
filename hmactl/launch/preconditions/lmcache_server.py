"""The LMCache server that a connector expects, and that hmactl does not start: there, and fitting.

It is asked over HTTP, where it has an address for that: ``/config`` and ``/lmc_version``, which
LMCache has since 0.5.1 or before. Of a server that cannot be asked so nothing more is known than
that something listens.
"""

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from hmactl.deployment.deployment import LMCacheServer
from hmactl.deployment.setting import ENVIRONMENT, Area, Setting
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import SERVED
from hmactl.finding import Severity
from hmactl.launch.ports import lmcache_http_port
from hmactl.launch.preconditions.problem import Problem
from hmactl.launch.verify.server import NoAnswerError, Server
from hmactl.rules.case import Case
from hmactl.rules.lms import lms001_chunk_size, lms028_other_release

_SECONDS = 3.0
_WAITS = 300
_LOOPBACK = "127.0.0.1"
_LOCAL = frozenset({"localhost", _LOOPBACK, "::1"})


@dataclass(frozen=True, slots=True)
class _Running:
    chunk_size: int | None
    version: str | None


def lmcache_server_problems(case: Case) -> Iterator[Problem]:
    """What is wrong with the servers that the connector asks; nothing for one that we start."""
    facts, deployment = case.facts, case.facts.deployment
    described = deployment.lmcache_server
    if SERVED not in facts.connector_classes or (described is not None and described.start):
        return
    if any(deployment.is_unknown(Area.CONNECTOR, f"lmcache.mp.{n}") for n in ("host", "port")):
        return
    for host, port in _addresses(facts):
        why = _unreachable(host, port)
        if why is not None:
            yield Problem(
                f"no LMCache server answers at {host}:{port}: {why}",
                f"vLLM waits for it, {_WAITS} seconds unless `lmcache.mp.mq_timeout` is set, and "
                "then ends",
                "start `lmcache server` first, or `lmcache_server: {start: true}`",
                fatal=False,
            )
            continue
        running = _ask(described, host, port)
        if running is not None:
            yield from _unfitting(case, running, f"{host}:{port}")


def _addresses(facts: Facts) -> Iterator[tuple[str, int]]:
    connector = facts.connector
    for one in () if connector is None else connector.walk():
        extra = one.extra_config
        if one.name != SERVED or extra.get("lmcache.mp.autostart"):
            continue
        urls = extra.get("lmcache.mp.server_urls")
        if not urls:
            host = extra.get("lmcache.mp.host", "tcp://localhost")
            urls = f"{host}:{extra.get('lmcache.mp.port', 5555)}"
        texts = urls if isinstance(urls, list) else str(urls).split(",")
        for text in texts:
            with contextlib.suppress(ValueError):
                url = str(text).strip()
                parts = urlsplit(url if "://" in url else f"tcp://{url}")
                if parts.scheme in {"tcp", "grpc"} and parts.hostname and parts.port:
                    yield parts.hostname, parts.port


def _unreachable(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _ask(described: LMCacheServer | None, host: str, port: int) -> _Running | None:
    """What the server says of itself; None where it cannot be asked, or another one answers."""
    http_host = None if described is None else described.option("http-host")
    where = host if http_host is None or host not in _LOCAL else str(http_host.value)
    where = _LOOPBACK if where in {*_LOCAL, "0.0.0.0", ""} else where  # noqa: S104 - not bound
    server = Server(f"http://{where}:{lmcache_http_port(described)}", timeout=_SECONDS)
    try:
        config = server.json("/config")
        version = server.json("/lmc_version")
    except NoAnswerError:
        return None
    own = config.get("mp") if isinstance(config, dict) else None
    if not isinstance(own, dict) or own.get("port") != port:
        return None
    chunk = own.get("chunk_size")
    return _Running(
        chunk if isinstance(chunk, int) else None,
        version if isinstance(version, str) and version else None,
    )


def _unfitting(case: Case, running: _Running, address: str) -> Iterator[Problem]:
    deployment = case.facts.deployment
    described = deployment.lmcache_server or LMCacheServer(ENVIRONMENT)
    planned = described.option("chunk-size")
    options = described.options
    if running.chunk_size is not None:
        others = (option for option in options if option.name != "chunk-size")
        options = (*others, Setting("chunk-size", running.chunk_size, described.origin))
    there = replace(
        deployment,
        lmcache_server=replace(described, options=options),
        target=replace(deployment.target, lmcache_server_version=running.version),
    )
    case = Case(replace(case.facts, deployment=there), case.verdict)
    found = [f for rule in (lms001_chunk_size, lms028_other_release) for f in rule.check(case)]
    for finding in found:
        problem = f"at {address}: {finding.message}"
        fatal = finding.severity is Severity.ERROR
        yield Problem(problem, finding.consequence, finding.fix, fatal)
    wrong = planned is not None and running.chunk_size not in {None, planned.value}
    if wrong and planned is not None and not any(f.id == lms001_chunk_size.ID for f in found):
        yield Problem(
            f"the LMCache server at {address} has chunks of {running.chunk_size} tokens, and the "
            f"profile says {planned.value}",
            "what was checked of chunks and of the server's memory is of another server",
            "the same `chunk-size` for the server and in the profile",
            fatal=False,
        )
