"""A variable under `env:` that looks like LMCache's and that nothing reads.

What: the name begins with `LMCACHE_` (or `LM_CACHE_`), and neither the installed LMCache nor
vLLM's side of it has it anywhere. No variable of LMCache has a similar name, so it may belong to
another release or to something beside LMCache.

Why: LMCache says nothing about variables that it does not know.

Failing example: `env: {LMCACHE_COMPRESSION_LEVEL: "3"}`.

Passing example: `env: {LMCACHE_LOG_LEVEL: DEBUG}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import HARMLESS_VARIABLES

ID = "LMC006"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such variable."""
    settings = case.facts.answer.lmcache
    if settings is None or not any(
        name.startswith("LMCache") for name in case.facts.connector_classes
    ):
        return
    for setting in case.facts.deployment.env:
        if setting.name in HARMLESS_VARIABLES or settings.unknown.get(setting.name) != ():
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"nothing in LMCache {case.facts.answer.versions.lmcache} reads `{setting.name}`",
            "it has no effect there, and LMCache says nothing about it",
            "remove it, unless something beside LMCache reads it",
            setting.origin,
        )
