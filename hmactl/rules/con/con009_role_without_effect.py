"""The connector does not look at its role.

What: `kv_producer` and `kv_consumer` are left to each connector to heed. vLLM's own offloading
connectors never read the role, LMCacheMPConnector does from LMCache 0.5.6 on.

Why: a consumer stores all the same, a producer loads all the same.

Failing example: `connector: {name: OffloadingConnector, role: kv_consumer}`.

Passing example: `role: kv_both`, which is what happens.

Source: the connectors' sources in vLLM 0.11.1 to 0.33.0 and LMCache 0.4.7 to 0.5.6;
https://github.com/LMCache/LMCache/issues/5143.

Since: 0.1.0.
"""

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON009"
SEVERITY = Severity.WARNING

_NEVER = ("OffloadingConnector", "SimpleCPUOffloadConnector")
# The newest LMCache whose connector does not; the next release's does.
_MP_WITHOUT = Version("0.5.5")
_ALONE = {
    "kv_consumer": "it stores as well",
    "kv_producer": "it loads as well",
}


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, that ignores the role it was given."""
    if case.facts.connector is None:
        return
    for connector in case.facts.connector.walk():
        if connector.module_path or connector.role not in _ALONE:
            continue
        if connector.name in _NEVER or (connector.name == SERVED and _old_mp(case)):
            yield Finding(
                ID,
                SEVERITY,
                f"{connector.name} does not look at its role `{connector.role}`",
                _ALONE[connector.role],
                "give it the role `kv_both`, which is what it does"
                + (", or use LMCache 0.5.6 or newer" if connector.name == SERVED else ""),
                connector.origin,
            )


def _old_mp(case: Case) -> bool:
    try:
        return Version(case.facts.answer.versions.lmcache or "") <= _MP_WITHOUT
    except InvalidVersion:
        return False
