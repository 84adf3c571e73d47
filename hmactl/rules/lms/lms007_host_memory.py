"""The LMCache server's memory is more than the host has.

What: `lmcache server` takes `l1-size-gb` times 1024 to the power of 3 bytes of host memory, once
for all vLLM workers that it serves, unless its L1 is a file (`gds-l1-path`, `l1-devdax-path`).

Why: the server fails to allocate it, or the kernel ends the server as it fills.

Failing example: `l1-size-gb: 300` with `host_memory: 256 GiB`.

Passing example: `l1-size-gb: 60` with the same.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import number, option, served_connectors

ID = "LMS007"
SEVERITY = Severity.ERROR

_LOCAL = ("localhost", "127.0.0.1")


def check(case: Case) -> Iterator[Finding]:
    """One finding where the server's memory exceeds `target.host_memory`."""
    server, host = case.facts.deployment.lmcache_server, case.facts.deployment.target.host_memory
    if server is None or host is None or not served_connectors(case):
        return
    setting = option(server, "l1-size-gb")
    size = None if setting is None else number(setting.value)
    if setting is None or size is None or size * 2**30 <= host or not _on_this_host(case):
        return
    if any(option(server, name) for name in ("gds-l1-path", "l1-devdax-path", "l1-manager")):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"the LMCache server takes {size:g} GiB of host memory, and the host has "
        f"{format_gib(host)}",
        "the server fails to allocate it, or the kernel ends it as it fills",
        f"`l1-size-gb` well below {host / 2**30:.1f}: vLLM needs host memory too",
        setting.origin,
    )


def _on_this_host(case: Case) -> bool:
    hosts = [
        str(connector.extra_config.get("lmcache.mp.host", "tcp://localhost"))
        for connector in served_connectors(case)
    ]
    return all(host.rpartition("/")[2] in _LOCAL for host in hosts)
