"""The ports that the processes of a deployment will listen on are free."""

from collections.abc import Iterator, Mapping

from hmactl.facts.facts import Facts
from hmactl.launch.ports import engine_ports, lmcache_server_ports, why_not_free
from hmactl.launch.preconditions.problem import Problem


def port_problems(facts: Facts, environment: Mapping[str, str]) -> Iterator[Problem]:
    """One problem for each port that cannot be had, and for each that two processes want."""
    ports = list(engine_ports(facts, environment))
    server = facts.deployment.lmcache_server
    if server is not None and server.start:
        ports += lmcache_server_ports(facts.deployment)
    wanted: dict[int, str] = {}
    for port in ports:
        other = wanted.setdefault(port.number, port.setting)
        if other != port.setting:
            reason = f"port {port.number} is also {other}"
        elif (found := why_not_free(port)) is not None:
            reason = found
        else:
            continue
        yield Problem(
            f"{port.who} cannot listen: {reason}",
            f"{port.who} ends when it starts" if port.needed else f"{port.who} works without it",
            f"another {port.setting}, or end what has it",
            fatal=port.needed,
        )
