"""A `lmcache.*` key that LMCacheMPConnector does not know.

What: the installed connector's source has no such `lmcache.mp.*` key; or it is a setting of LMCache
in the vLLM process, such as `lmcache.chunk_size`, which is an option of `lmcache server` here.

Why: the connector only asks for the keys that it knows and says nothing about others. The default
stays in force.

Failing example: `extra_config: {lmcache.mp.hots: tcp://cache}`.

Passing example: `extra_config: {lmcache.mp.host: tcp://cache}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors
from hmactl.rules.misspelt import meant, renamed

ID = "LMS002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such key."""
    if (settings := case.facts.answer.lmcache) is None:
        return
    for connector in served_connectors(case):
        for key in connector.extra_config:
            if not key.startswith("lmcache.") or key not in settings.unknown:
                continue
            similar = ", ".join(f"`{name}`" for name in settings.unknown[key])
            yield Finding(
                ID,
                SEVERITY,
                f"LMCacheMPConnector of LMCache {case.facts.answer.versions.lmcache} does not "
                f"read `{key}`",
                "it has no effect, and the connector says nothing about it",
                f"similar keys exist: {similar}" if similar else "remove it",
                connector.place_of(key) or connector.origin,
                renamed(connector, key, meant(key, settings.unknown[key], connector.extra_config)),
            )
