"""`lmcache server` needs its size and its eviction policy.

What: `lmcache server` does not start without both `l1-size-gb` and `eviction-policy`, unless
`l1-manager` gives them.

Why: it ends with "Legacy L1 configuration requires --l1-size-gb and --eviction-policy". A profile
that names neither only says where a server is, which is fine.

Failing example: `lmcache_server: {l1-size-gb: 60}`.

Passing example: `lmcache_server: {l1-size-gb: 60, eviction-policy: LRU}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Area
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS004"
SEVERITY = Severity.ERROR

_EXAMPLES = {"l1-size-gb": "`l1-size-gb: 60`", "eviction-policy": "`eviction-policy: LRU`"}


def check(case: Case) -> Iterator[Finding]:
    """One finding where a described server lacks one of the two."""
    server, settings = case.facts.deployment.lmcache_server, case.facts.answer.lmcache
    if server is None or settings is None or not served_connectors(case):
        return
    known = set(settings.server_options)
    missing = [name for name in _EXAMPLES if server.option(name) is None and name in known]
    if any(case.facts.deployment.is_unknown(Area.LMCACHE_SERVER, name) for name in missing):
        return
    described = server.start or len(missing) < len(_EXAMPLES)
    if not missing or not described or "l1-manager" in {s.name for s in server.options}:
        return
    if any(name.startswith(s.name) for name in missing for s in server.options):
        return  # argparse takes the beginning of a name for it
    yield Finding(
        ID,
        SEVERITY,
        f"`lmcache server` does not start without {' and '.join(f'`{n}`' for n in missing)}",
        "it ends at once, and the connector waits for it in vain",
        " and ".join(_EXAMPLES[name] for name in missing),
        server.origin,
    )
