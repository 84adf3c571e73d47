"""The remote store only takes whole chunks.

What: `resp://`, `valkey://` and `hfbucket`, and NIXL storage with a dynamic pool, refuse
`save_unfull_chunk: true`. `resp://`, `s3://` and `valkey://` also refuse
`save_chunk_meta: true` in `extra_config`. LMCache sets `save_unfull_chunk` itself for P/D and
blending.

Why: LMCache logs one warning and goes on without the store.

Failing example: `lmcache: {remote_url: "resp://cache:6379", save_unfull_chunk: true}`.

Passing example: the same with `save_unfull_chunk: false`.

Source: the adapters in LMCache 0.5.6, redis_adapter.py, s3_adapter.py, valkey_adapter.py.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "LMC031"
SEVERITY = Severity.ERROR

_WHOLE = ("resp://", "valkey://")
_WITHOUT_META = ("resp://", "s3://", "valkey://")


def check(case: Case) -> Iterator[Finding]:
    """One finding for each of the two that such a store refuses."""
    if (settings := in_process_settings(case)) is None:
        return
    values = settings.values
    address, extra = values.get("remote_url"), values.get("extra_config")
    if not isinstance(address, str):
        return
    scheme = address.partition("://")[0] + "://"
    if scheme in _WHOLE and values.get("save_unfull_chunk"):
        yield _finding(case, scheme, "`save_unfull_chunk: false`")
    if scheme in _WITHOUT_META and isinstance(extra, dict) and extra.get("save_chunk_meta"):
        yield _finding(case, scheme, "`extra_config: {save_chunk_meta: false}`")


def _finding(case: Case, scheme: str, needs: str) -> Finding:
    return Finding(
        ID,
        SEVERITY,
        f"a store at `{scheme}` needs {needs}",
        "LMCache logs one warning and goes on without the store",
        needs,
        origin_of(case, "remote_url"),
    )
