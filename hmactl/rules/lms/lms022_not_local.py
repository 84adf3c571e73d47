"""The LMCache MP server is on another host.

What: LMCacheMPConnector hands the server memory handles of the GPU, or a shared memory segment.
Both only exist on one host; the network only carries messages.

Why: the server cannot open the handles: vLLM ends when it registers its KV cache, or nothing is
ever stored.

Failing example: `extra_config: {lmcache.mp.host: tcp://cache.example}`.

Passing example: `extra_config: {lmcache.mp.host: tcp://localhost}`, with a server on each host.

Source: the transfer contexts of LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/3624.

Since: 0.1.0.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS022"
SEVERITY = Severity.WARNING

_LOCAL = ("localhost", "::1", "0.0.0.0")  # noqa: S104 - compared, not bound


def check(case: Case) -> Iterator[Finding]:
    """One finding for a host whose name has a domain, so that it is hardly this machine's."""
    for connector in served_connectors(case):
        extra = connector.extra_config
        host = extra.get("lmcache.mp.host")
        if extra.get("lmcache.mp.server_urls") or not isinstance(host, str):
            continue
        name = _host(host)
        if name is None or name in _LOCAL or name.startswith("127.") or "." not in name:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"`lmcache.mp.host: {host}` looks like another host, and the server has to be on this",
            "the server cannot open the memory that the connector hands it",
            "`lmcache.mp.host: tcp://localhost`, with a server on each host",
            connector.origin,
        )


def _host(text: str) -> str | None:
    try:
        return urlsplit(text if "://" in text else f"tcp://{text}").hostname
    except ValueError:
        return None
