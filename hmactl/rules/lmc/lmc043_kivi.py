"""The serializer KIVI does nothing.

What: `remote_serde: kivi` is in LMCache's list, and its serializer returns what it is given.

Why: chunks are stored in full size, as with `naive`. Who counts on a compressed store gets none.

Failing example: `lmcache: {remote_url: "lm://cache:65432", remote_serde: kivi}`.

Passing example: the same with `remote_serde: naive`, which says what happens.

Source: `KIVISerializer` in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC043"
SEVERITY = Severity.INFO

_SERDE = "remote_serde"
_IDLE = "kivi"


def check(case: Case) -> Iterator[Finding]:
    """One finding where it was chosen; with MLA another rule says more."""
    settings, layers = in_process_settings(case), case.facts.answer.layers
    if settings is None or settings.values.get(_SERDE) != _IDLE:
        return
    if any("MLA" in kind.spec for stage in layers for kind in stage):
        return  # LMC033
    yield Finding(
        ID,
        SEVERITY,
        f"{as_written(case, _SERDE)} compresses nothing in LMCache "
        f"{case.facts.answer.versions.lmcache}",
        "chunks are stored in full size",
        f"`{_SERDE}: naive`, which does the same",
        origin_of(case, _SERDE),
    )
