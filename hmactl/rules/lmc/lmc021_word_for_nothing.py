"""A word that means "nothing" is a value to LMCache.

What: an address or a path is `None`, `null`, `false` or empty text. LMCache takes any text as it
is; only a YAML null, or leaving the setting out, means none.

Why: LMCache looks for a store at an address of that name, or makes a directory of that name where
the server was started.

Failing example: `env: {LMCACHE_REMOTE_URL: "None"}`.

Passing example: no `LMCACHE_REMOTE_URL` at all.

Source: the converters in LMCache 0.5.6, config.py.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of, written

ID = "LMC021"
SEVERITY = Severity.ERROR

# Where none is None, and any text a place or an address.
_PLACES = (
    *("remote_url", "local_disk", "gds_path", "maru_path", "external_lookup_client"),
    *("controller_pull_url", "controller_reply_url", "remote_config_url", "pd_peer_host"),
    *("pd_proxy_host", "p2p_host", "audit_actual_remote_url", "store_location"),
)
_NOTHING = frozenset({"", "none", "null", "nil", "false", "~", "undefined", "n/a"})


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such setting."""
    if (settings := in_process_settings(case)) is None:
        return
    for key in _PLACES:
        value = settings.values.get(key)
        if not isinstance(value, str) or not says_nothing(value) or written(case, key) is None:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"{as_written(case, key)} is a text to LMCache and not nothing",
            f"LMCache uses `{value}` as if it were a place or an address",
            f"leave `{key}` out",
            origin_of(case, key),
        )


def says_nothing(value: str) -> bool:
    """Whether whoever wrote that text meant that there is none."""
    return value.strip().lower() in _NOTHING
