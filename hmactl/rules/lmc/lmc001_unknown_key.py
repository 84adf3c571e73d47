"""LMCache does not know a key.

What: the installed LMCache has no such setting.

Why: LMCache ignores unknown keys in its configuration file with a warning, and unknown
environment variables without a word. The setting has no effect.

Failing example: `max_local_cpu_sise: 20.0`.

Passing example: `max_local_cpu_size: 20.0`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC001"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each key under `lmcache:` that the installed LMCache does not have."""
    settings = case.facts.answer.lmcache
    if settings is None:
        return
    for setting in case.facts.deployment.lmcache:
        if setting.name not in settings.unknown:
            continue
        similar = ", ".join(f"`{name}`" for name in settings.unknown[setting.name])
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache {case.facts.answer.versions.lmcache} has no setting `{setting.name}`",
            "LMCache ignores it silently",
            f"similar settings exist: {similar}" if similar else "remove it",
            setting.origin,
        )
