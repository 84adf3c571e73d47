"""A connector class outside vLLM takes the wrong number of constructor arguments.

What: vLLM creates a connector with its configuration, its role and a `kv_cache_config`. A class of
a `kv_connector_module_path` that takes only the first two is accepted with a warning up to vLLM
0.20, and refused since 0.21.

Why: vLLM ends at start-up: "uses deprecated 2-argument constructor signature", since 0.22 while it
is configured.

Failing example: `module_path: lmcache.integration.vllm.lmcache_connector_v1_085` with vLLM 0.21.

Passing example: `module_path: lmcache.integration.vllm.lmcache_connector_v1` of LMCache 0.3.14 or
newer.

Source: `KVConnectorFactory.get_connector_class` of vLLM 0.11.1 to 0.33.0.

Since: 0.1.0.
"""

import re
from collections.abc import Iterator

from hmactl.catalogue.connector_versions import lmcache_releases
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON018"
SEVERITY = Severity.ERROR

# vLLM 0.21 to 0.33.
_WORDS = re.compile(r"Connector (\w+) uses deprecated 2-argument constructor signature")


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, that vLLM refuses for its constructor."""
    for name in _refused(case):
        yield Finding(
            ID,
            SEVERITY,
            f"the constructor of {name} takes no `kv_cache_config`",
            f"vLLM {case.facts.answer.versions.vllm} ends at start-up: it refuses such a class of "
            "a module path",
            _fix(case, name),
            case.connector_origin,
        )


def _refused(case: Case) -> Iterator[str]:
    answer = case.facts.answer
    for one in () if answer.connector is None else answer.connector.walk():
        if one.error is not None and one.old_constructor:
            yield one.name
    # Where vLLM is still being configured, nothing else is known of the connector.
    said = None if answer.error is None else _WORDS.search(answer.error.message)
    if answer.connector is None and said is not None:
        yield said[1]


def _fix(case: Case, name: str) -> str:
    """LMCache's releases are in the catalogue; of other packages nothing is known."""
    written = () if case.facts.connector is None else case.facts.connector.walk()
    path = next((c.module_path for c in written if c.name == name and c.module_path), "")
    key = f"{path}:{name}"
    known = [release for release in lmcache_releases() if key in release.classes]
    newer = [r.version for r in known if not r.classes[key].old_constructor]
    if newer:
        return f"LMCache {newer[0]} or newer"
    if known:
        return (
            f"no LMCache up to {known[-1].version} has that class otherwise: leave out "
            "`kv_connector_module_path` and take LMCacheConnectorV1 or LMCacheMPConnector"
        )
    return (
        "take a newer release of the package that has the class, or give its constructor "
        "`kv_cache_config` as third argument and pass it to `super().__init__()`"
    )
