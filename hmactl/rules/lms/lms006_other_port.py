"""LMCacheMPConnector asks at another port than its server has.

What: `lmcache.mp.port` of the connector and `port` under `lmcache_server:` differ; both are 5555
unless set.

Why: vLLM waits `lmcache.mp.mq_timeout` seconds (300 unless set) for the server and then ends:
"Cannot reach the LMCache MP server". Where something in between translates ports it is right so.

Failing example: `lmcache.mp.port: 6555` with `lmcache_server: {port: 5555}`.

Passing example: the same port in both.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Area
from hmactl.facts.lmcache import option_number
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS006"
SEVERITY = Severity.WARNING

# Of the connector and of the server, in LMCache 0.5.6.
_DEFAULT = 5555


def check(case: Case) -> Iterator[Finding]:
    """One finding where the two ports differ."""
    deployment = case.facts.deployment
    server = deployment.lmcache_server
    if server is None or deployment.is_unknown(Area.CONNECTOR, "lmcache.mp.port"):
        return
    setting = server.option("port")
    port = option_number(_DEFAULT if setting is None else setting.value)
    for connector in served_connectors(case):
        extra = connector.extra_config
        asked = option_number(extra.get("lmcache.mp.port", _DEFAULT))
        if extra.get("lmcache.mp.server_urls") or extra.get("lmcache.mp.autostart"):
            continue
        if setting is None and "lmcache.mp.port" not in extra:
            continue
        if asked is None or port is None or asked == port:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"the connector asks at port {asked:.0f}, and the LMCache server has port {port:.0f}",
            "vLLM waits minutes for the server and then ends",
            f"`lmcache.mp.port: {port:.0f}`, unless something in between translates ports",
            connector.origin if setting is None else setting.origin,
        )
