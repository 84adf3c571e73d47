"""A connector class outside vLLM takes the wrong number of constructor arguments.

What: vLLM creates a connector with its configuration, its role and a `kv_cache_config`. A class of
a `kv_connector_module_path` that takes only the first two is accepted with a warning up to vLLM
0.20, and refused since 0.21.

Why: vLLM ends at start-up: "uses deprecated 2-argument constructor signature". Since 0.22 it may
do so while it is configured, which is ENG001 then.

Failing example: `module_path: lmcache.integration.vllm.lmcache_connector_v1_085` with vLLM 0.21.

Passing example: `module_path: lmcache.integration.vllm.lmcache_connector_v1` of LMCache 0.3.14 or
newer.

Source: `KVConnectorFactory.get_connector_class` of vLLM 0.11.1 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON018"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector, children included, that vLLM refuses for its constructor."""
    connector = case.facts.answer.connector
    for one in () if connector is None else connector.walk():
        if one.error is None or not one.old_constructor:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"the constructor of {one.name} takes no `kv_cache_config`",
            f"vLLM {case.facts.answer.versions.vllm} ends at start-up: it refuses such a class of "
            "a module path",
            "take a newer release of the package that has the class, or give its constructor "
            "`kv_cache_config` as third argument and pass it to `super().__init__()`",
            case.connector_origin,
        )
