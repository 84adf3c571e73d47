"""Nobody has looked at this pair of vLLM and LMCache.

What: neither project says which of its releases fit which of the other. hmactl's catalogue has read
the connectors of released wheels; one of these two releases is not among them.

Why: that everything can be imported, which the dry boot shows, does not mean that it works: what
one calls, the other may have changed. It may well work.

Failing example: LMCache 0.5.9 with vLLM 0.32.0.

Passing example: LMCache 0.5.6 with vLLM 0.32.0.

Source: the releases that hmactl's catalogue of connectors has;
https://github.com/vllm-project/vllm/issues/26452.

Since: 0.1.0.
"""

from collections.abc import Iterable, Iterator

from packaging.version import InvalidVersion

from hmactl.catalogue.connector_versions import lmcache_releases, vllm_releases
from hmactl.catalogue.version import parsed
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "VER002"
SEVERITY = Severity.INFO


def check(case: Case) -> Iterator[Finding]:
    """One finding where LMCache is used and one of the two releases is not in the catalogue."""
    versions = case.facts.answer.versions
    if not versions.vllm or versions.lmcache is None:
        return
    if not any(name.startswith("LMCache") for name in case.facts.connector_classes):
        return
    unread = []
    if not _among(versions.vllm, (release.version for release in vllm_releases())):
        unread.append(f"vLLM {versions.vllm}")
    if not _among(versions.lmcache, (release.version for release in lmcache_releases())):
        unread.append(f"LMCache {versions.lmcache}")
    if not unread:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {versions.vllm} with LMCache {versions.lmcache} is unverified: hmactl knows nothing "
        f"of {' and '.join(unread)}",
        "it may work; that it can be imported proves little",
        "look for hits after a start, or use releases that `hmactl connectors --matrix` has",
        case.connector_origin,
    )


def _among(version: str, releases: Iterable[str]) -> bool:
    try:
        public = parsed(parsed(version).public)
    except InvalidVersion:
        return False
    return public in {parsed(release) for release in releases}
