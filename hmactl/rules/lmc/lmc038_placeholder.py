"""A placeholder was left in an LMCache setting.

What: the value still has the `<host>`, `$HOST`, `${HOST}`, `{{ host }}` or `your-host` of an
example or a template in it. A variable inside single quotes, in a ConfigMap or in a YAML file is
not replaced by anybody; nor does LMCache.

Why: LMCache uses the text as it is: an address that does not exist.

Failing example: `lmcache: {remote_url: "lm://${CACHE_HOST}:65432"}`.

Passing example: `lmcache: {remote_url: "lm://cache.example:65432"}`.

Source: https://github.com/volcano-sh/kthena/pull/937.

Since: 0.1.0.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import all_connectors, in_process_settings, written

ID = "LMC038"
SEVERITY = Severity.ERROR

_PLACEHOLDER = re.compile(
    r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Z_][A-Z0-9_]{2,}|\{\{.*?\}\}"
    r"|<[A-Za-z][A-Za-z0-9_ -]*>|(?<![A-Za-z0-9])your[-_][a-z]+(?:[-_][a-z]+)*"
)


def check(case: Case) -> Iterator[Finding]:
    """One finding for each setting, and for each key of a connector, with one in it."""
    settings = in_process_settings(case)
    for key, value in ({} if settings is None else settings.values).items():
        place = written(case, key)
        # A template's braces are code in blend_special_str, and a key's own words in extra_config.
        if place is not None and key != "blend_special_str":
            yield from _in(place.name, value, place.origin)
    for connector in all_connectors(case):
        own = connector.extra_config | connector.options
        for name, value in own.items():
            if not name.startswith("lmcache.") or name.startswith("lmcache.mp."):
                yield from _in(name, value, connector.origin)


def _in(name: str, value: Any, origin: Origin) -> Iterator[Finding]:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if isinstance(value, str | list | dict) and (found := _PLACEHOLDER.search(text)):
        yield Finding(
            ID,
            SEVERITY,
            f"`{name}` has a placeholder in it: {found[0]}",
            "nobody replaces it: it is used as it is",
            "write the value that is meant",
            origin,
        )
