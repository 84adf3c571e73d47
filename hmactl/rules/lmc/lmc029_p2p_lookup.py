"""P2P of LMCache never finds anything without asynchronous loading.

What: LMCache's P2P backend only answers asynchronous look-ups; asked in the usual way it says that
it has nothing.

Why: no server ever finds what another has, and LMCache says nothing about it.

Failing example: `lmcache: {enable_p2p: true, ...}` and nothing else.

Passing example: the same with `enable_async_loading: true`.

Source: `P2PBackend.contains` in LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/1791.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, may_be_set, origin_of

ID = "LMC029"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where P2P is on and asynchronous loading is off."""
    if (settings := in_process_settings(case)) is None:
        return
    values = settings.values
    if not values.get("enable_p2p") or values.get("enable_async_loading") is not False:
        return
    if may_be_set(case, "enable_async_loading"):
        return
    yield Finding(
        ID,
        SEVERITY,
        "`enable_p2p` without `enable_async_loading`: P2P only answers asynchronous look-ups",
        "no server ever finds what another has",
        "`enable_async_loading: true`",
        origin_of(case, "enable_p2p"),
    )
