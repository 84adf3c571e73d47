"""A variable under `env:` that is a misspelt setting of LMCache.

What: the name begins like a variable of LMCache and is close to one, but LMCache does not read it.
Its variables are `LMCACHE_` and the key in upper case with its underscores: `LMCACHE_CHUNK_SIZE`.

Why: LMCache only asks for the variables that it knows, so it says nothing about any other. The
default stays in force.

Failing example: `env: {LMCACHE_CHUNKSIZE: "512"}`, or `LM_CACHE_CHUNK_SIZE`.

Passing example: `env: {LMCACHE_CHUNK_SIZE: "512"}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import HARMLESS_VARIABLES
from hmactl.rules.misspelt import meant

ID = "LMC005"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each variable that nothing in the installed LMCache or vLLM reads."""
    settings = case.facts.answer.lmcache
    if settings is None or not any(
        name.startswith("LMCache") for name in case.facts.connector_classes
    ):
        return
    taken = {setting.name for setting in case.facts.deployment.env}
    for setting in case.facts.deployment.env:
        similar = settings.unknown.get(setting.name)
        if not similar or setting.name in HARMLESS_VARIABLES:
            continue
        name = meant(setting.name, similar, taken)
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache {case.facts.answer.versions.lmcache} does not read `{setting.name}`",
            "it has no effect, and LMCache says nothing about it",
            f"similar variables exist: {', '.join(f'`{one}`' for one in similar)}",
            setting.origin,
            None if name is None else edit_at(setting.origin, setting.name, name),
        )
