"""LMCacheMPConnector cannot reach an address like that.

What: the connector makes its address of `lmcache.mp.host`, a colon and `lmcache.mp.port` (5555
unless set), so a port inside of the host is there twice.

Why: vLLM ends when it makes the connector, because that is no address.

Failing example: `lmcache.mp.host: tcp://cache:5555`.

Passing example: `lmcache.mp.host: tcp://cache` with `lmcache.mp.port: 5555`.

Since: 0.1.0.
"""

import re
from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS005"
SEVERITY = Severity.ERROR

_WITH_PORT = re.compile(r"^(?P<host>(\w+://)?[^:/\[\]]+):(?P<port>\d+)$")


def check(case: Case) -> Iterator[Finding]:
    """One finding for each host that brings a port along."""
    for connector in served_connectors(case):
        host = connector.extra_config.get("lmcache.mp.host")
        found = _WITH_PORT.match(host) if isinstance(host, str) else None
        if found is None or connector.extra_config.get("lmcache.mp.server_urls"):
            continue
        port = connector.extra_config.get("lmcache.mp.port", 5555)
        yield Finding(
            ID,
            SEVERITY,
            f"`lmcache.mp.host: {host}` has a port, and the connector adds one: `{host}:{port}`",
            "vLLM ends when it makes the connector",
            f"`lmcache.mp.host: {found['host']}` and `lmcache.mp.port: {found['port']}`",
            connector.origin,
        )
