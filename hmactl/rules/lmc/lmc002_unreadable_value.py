"""LMCache cannot read a value and drops it.

What: LMCache's loader cannot convert the value. It logs a warning and uses None, not the default.

Why: LMCache then fails to initialise and the server goes on without a cache, or fails at the first
request.

Failing example: `chunk_size: 5k`.

Passing example: `chunk_size: 256`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each key or variable whose value LMCache's own loader turns into None."""
    settings = case.facts.answer.lmcache
    if settings is None:
        return
    deployment = case.facts.deployment
    for setting in (*deployment.lmcache, *deployment.env):
        key = setting.name.removeprefix("LMCACHE_").lower()
        if setting in deployment.env and key == setting.name.lower():
            continue
        if setting.value in (None, "") or settings.values.get(key, "") is not None:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache cannot read `{setting.name}: {setting.value}` and uses None instead",
            "LMCache fails to initialise and the server goes on without it",
            "give a value of the setting's type",
            setting.origin,
        )
