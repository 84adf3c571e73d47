"""A `lmcache.*` key of an in-process connector that LMCache does not know.

What: LMCacheConnectorV1 takes LMCache's settings from its `extra_config` too, as `lmcache.` and the
key. The installed LMCache has no such setting.

Why: LMCache logs one warning, "Config key ... does not exist in configuration", and goes on without
it.

Failing example: `extra_config: {lmcache.chunksize: 512}`.

Passing example: `extra_config: {lmcache.chunk_size: 512}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import CONNECTORS, all_connectors, in_process_settings
from hmactl.rules.misspelt import meant, renamed

ID = "LMC007"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such key."""
    if (settings := in_process_settings(case)) is None:
        return
    for connector in all_connectors(case):
        if connector.name not in CONNECTORS:
            continue
        for key in connector.extra_config:
            if key not in settings.unknown or not key.startswith("lmcache."):
                continue
            similar = ", ".join(f"`{name}`" for name in settings.unknown[key])
            yield Finding(
                ID,
                SEVERITY,
                f"LMCache {case.facts.answer.versions.lmcache} has no setting for `{key}`",
                "LMCache logs one warning and goes on without it",
                f"similar settings exist: {similar}" if similar else "remove it",
                connector.place_of(key) or connector.origin,
                renamed(connector, key, meant(key, settings.unknown[key], connector.extra_config)),
            )
