"""LMCache cannot read a value and drops it.

What: LMCache's loader cannot convert the value: `5k` or `256.0` as a whole number, `5GB` as a size,
JSON with single quotes or Python's `True`. It logs one warning and goes on with what it had before:
the value of its file, or None, which is not the default.

Why: with None LMCache fails to initialise and the server goes on without a cache, or it fails at
the first request. Otherwise the setting has no effect.

Failing example: `chunk_size: 5k`.

Passing example: `chunk_size: 256`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.facts.lmcache_places import places, places_of
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each place whose value LMCache's own converters refuse."""
    settings = case.facts.answer.lmcache
    if settings is None:
        return
    for place in places(case.facts):
        setting, value = place.setting, settings.values.get(place.key)
        # In its file, LMCache leaves None where there was something else.
        emptied = settings.values.get(place.key, "") is None and setting.value not in (None, "")
        if place.readable and not (emptied and place == places_of(case.facts, place.key)[-1]):
            continue
        lost = value is None
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache cannot read `{setting.name}: {setting.value}` and uses {value} instead",
            "LMCache fails to initialise and the server goes on without it"
            if lost
            else "it has no effect; LMCache logs one warning",
            "give a value of the setting's type",
            setting.origin,
        )
