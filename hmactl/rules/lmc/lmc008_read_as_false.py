"""LMCache reads a word as false that was not meant so.

What: for its switches LMCache takes `true` and `1` as true, in any case, and every other word as
false: `yes` and `on` too.

Why: nothing is logged. What was to be switched on is off.

Failing example: `env: {LMCACHE_LOCAL_CPU: "yes"}`.

Passing example: `env: {LMCACHE_LOCAL_CPU: "true"}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, written

ID = "LMC008"
SEVERITY = Severity.ERROR

_MEANT_AS_TRUE = frozenset({"yes", "y", "on", "t", "enable", "enabled"})
_MEANT_AS_FALSE = frozenset({"false", "f", "no", "n", "off", "0", "none", "null", "disabled", ""})


def check(case: Case) -> Iterator[Finding]:
    """One finding for each switch that was set to a word which is not plainly "no"."""
    if (settings := in_process_settings(case)) is None:
        return
    for key, value in settings.values.items():
        setting = written(case, key) if value is False else None
        if setting is None or isinstance(setting.value, bool) or says_no(setting.value):
            continue
        word = str(setting.value)
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache reads {as_written(case, key)} as false: only `true` and `1` are true",
            "it is off, and LMCache says nothing about it",
            f"`{setting.name}: true`",
            setting.origin,
            edit_at(setting.origin, word, "true", behind=setting.name)
            if word.lower() in _MEANT_AS_TRUE
            else None,
        )


def says_no(value: object) -> bool:
    """Whether whoever wrote that meant "no"."""
    return value is None or str(value).strip().strip("\"'").lower() in _MEANT_AS_FALSE
