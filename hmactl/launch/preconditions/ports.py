"""The ports that the processes of a deployment will listen on are free."""

from collections.abc import Iterator, Mapping

from hmactl.facts.facts import Facts
from hmactl.launch.ports import Port, engine_ports, lmcache_server_ports, why_not_free
from hmactl.launch.preconditions.problem import Problem

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound


def port_problems(facts: Facts, environment: Mapping[str, str]) -> Iterator[Problem]:
    """One problem for each port that cannot be had, and for each that two processes want."""
    ports = list(engine_ports(facts, environment))
    server = facts.deployment.lmcache_server
    if server is not None and server.start:
        ports += lmcache_server_ports(facts.deployment)
    for place, port in enumerate(ports):
        other = next((one for one in ports[:place] if _clash(one, port)), None)
        if other is not None:
            reason = f"port {port.number} is also {other.setting}"
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


def _clash(one: Port, other: Port) -> bool:
    """Whether both cannot be listened on, whoever does first."""
    hosts = {"127.0.0.1" if port.host == "localhost" else port.host for port in (one, other)}
    same = len(hosts) == 1 or bool(hosts & _EVERYWHERE)
    return one.number == other.number and same
