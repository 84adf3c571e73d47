"""`lmcache server` refuses its options.

What: the installed `lmcache server` was given the options under `lmcache_server:`, without starting
it, and these are its own words: a number that is none, a word that is not one of those it takes, an
`l2-adapter` that is no JSON or of no known type.

Why: the server ends at once, and LMCacheMPConnector waits for it in vain.

Failing example: `lmcache_server: {l1-size-gb: 60 GB, eviction-policy: LRU}`.

Passing example: `lmcache_server: {l1-size-gb: 60, eviction-policy: LRU}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMS020"
SEVERITY = Severity.ERROR

# Another rule says this, with the options that are missing.
_INCOMPLETE = "Legacy L1 configuration requires"


def check(case: Case) -> Iterator[Finding]:
    """One finding with its own words, at the option that they name."""
    settings, server = case.facts.answer.lmcache, case.facts.deployment.lmcache_server
    if settings is None or server is None or settings.server_refusal is None:
        return
    words = settings.server_refusal
    if words.startswith(_INCOMPLETE):
        return
    named = [s for s in server.options if f"--{s.name}" in words]
    yield Finding(
        ID,
        SEVERITY,
        f"`lmcache server` refuses its options: {words}",
        "it ends at once, and the connector waits for it in vain",
        f"correct `{named[0].name}`" if named else "correct the option",
        named[0].origin if named else server.origin,
    )
