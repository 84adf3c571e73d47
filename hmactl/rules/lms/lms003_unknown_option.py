"""`lmcache server` has no such option.

What: a name under `lmcache_server:` that the installed `lmcache server` does not take.

Why: the server ends at once with "unrecognized arguments", and LMCacheMPConnector waits for it in
vain.

Failing example: `lmcache_server: {l1-sise-gb: 60}`.

Passing example: `lmcache_server: {l1-size-gb: 60}`.

Since: 0.1.0.
"""

import difflib
from collections.abc import Iterator, Sequence

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.misspelt import meant, renamed_option

ID = "LMS003"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such option."""
    settings, server = case.facts.answer.lmcache, case.facts.deployment.lmcache_server
    if settings is None or server is None or not settings.server_options:
        return
    taken = {setting.name for setting in server.options}
    for setting in server.options:
        if takes(settings.server_options, setting.name):
            continue
        similar = difflib.get_close_matches(setting.name, settings.server_options, 3, 0.7)
        listed = ", ".join(f"`{name}`" for name in similar)
        yield Finding(
            ID,
            SEVERITY,
            f"`lmcache server` of LMCache {case.facts.answer.versions.lmcache} has no option "
            f"`{setting.name}`",
            "the server ends at once, and the connector waits for it in vain",
            f"similar options exist: {listed}" if similar else "remove it",
            setting.origin,
            renamed_option(setting.origin, setting.name, meant(setting.name, similar, taken)),
        )


def takes(options: Sequence[str], name: str) -> bool:
    """Whether argparse would take that name: an option, its `no-` form, or a beginning of one."""
    return any(known.startswith((name, name.removeprefix("no-"))) for known in options)
