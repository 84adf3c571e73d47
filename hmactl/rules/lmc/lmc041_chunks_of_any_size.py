"""A serializer makes chunks of any size, and the store takes whole ones only.

What: `remote_serde: cachegen` compresses each chunk to another size. A store at `resp://` is read
into a buffer of exactly one chunk. (A store at `redis://` keeps the size beside the bytes: there it
works.)

Why: chunks are stored, and reading one back fails: "size header mismatch". LMCache then unpacks
what is left in the buffer, which ends the load with an error.

Failing example: `lmcache: {remote_url: "resp://cache:6379", remote_serde: cachegen}`.

Passing example: the same with `redis://cache:6379`, or `remote_serde: naive`.

Source: `RESPConnector._get` and `CacheGenDeserializer` in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC041"
SEVERITY = Severity.ERROR

_SERDE = "remote_serde"
_COMPRESSES = "cachegen"
_WHOLE = "resp://"


def check(case: Case) -> Iterator[Finding]:
    """One finding where such a store is written to by that serializer."""
    if (settings := in_process_settings(case)) is None:
        return
    address = settings.values.get("remote_url")
    if settings.values.get(_SERDE) != _COMPRESSES or not isinstance(address, str):
        return
    if not address.startswith(_WHOLE):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{as_written(case, _SERDE)} makes chunks of any size, and a store at `{_WHOLE}` is read "
        "by whole chunks",
        "chunks are stored, and no one can be loaded again",
        f"`remote_url` with `redis://`, or `{_SERDE}: naive`",
        origin_of(case, _SERDE),
    )
