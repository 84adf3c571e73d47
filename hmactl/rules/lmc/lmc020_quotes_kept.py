"""Quotes are part of an LMCache setting.

What: LMCache takes one pair of quotes around a variable's value away (from 0.3.7 on). What is
quoted twice, and quotes inside its file or a connector's extra config, stay in the value.

Why: a path or an address with quotes in it is another one, and LMCache does not say so.

Failing example: `lmcache: {remote_url: "'lm://cache:65432'"}` inside LMCache's own file.

Passing example: `remote_url: lm://cache:65432`.

Source: `_parse_quoted_string` in LMCache 0.5.6; https://github.com/LMCache/LMCache/pull/1671.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of, value_edit

ID = "LMC020"
SEVERITY = Severity.ERROR

_SHORTEST = 3


def check(case: Case) -> Iterator[Finding]:
    """One finding for each value that begins and ends with the same quote."""
    if (settings := in_process_settings(case)) is None:
        return
    for key, value in settings.values.items():
        if isinstance(value, str) and _quoted(value):
            yield Finding(
                ID,
                SEVERITY,
                f"the quotes in {as_written(case, key)} are part of the value",
                f"LMCache uses the text {value} as it is, quotes included",
                f"`{key}` without the inner quotes: {value[1:-1]}",
                origin_of(case, key),
                value_edit(case, key, value, value[1:-1]),
            )


def _quoted(value: str) -> bool:
    return len(value) >= _SHORTEST and value[0] == value[-1] and value[0] in "'\""
