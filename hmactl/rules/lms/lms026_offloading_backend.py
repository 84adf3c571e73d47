"""`kv-offloading-backend: lmcache` wants a server, and ignores the size.

What: up to vLLM 0.22 it meant LMCache in the vLLM process with host memory of
`kv-offloading-size` GiB. From 0.23 on it means LMCacheMPConnector and an LMCache server at
localhost, port 5555, whose own size counts.

Why: without that server vLLM waits minutes for it and ends. With it the size has no effect.

Failing example: `vllm: {kv-offloading-backend: lmcache, kv-offloading-size: 40}`.

Passing example: `connector: LMCacheMPConnector` with `lmcache_server: {l1-size-gb: 40, ...}`.

Source: the connector that the installed vLLM makes of it;
https://github.com/vllm-project/vllm/pull/42865.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import CONNECTOR

ID = "LMS026"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where vLLM makes the connector to a server of that option."""
    deployment = case.facts.deployment
    setting = deployment.vllm_setting("kv-offloading-backend")
    if setting is None or str(setting.value).lower() != "lmcache":
        return
    if case.facts.connector is not None or CONNECTOR not in case.facts.connector_classes:
        return
    size = deployment.vllm_setting("kv-offloading-size")
    ignored = "" if size is None else f", and ignores `kv-offloading-size: {size.value}`"
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {case.facts.answer.versions.vllm} looks for an LMCache server at localhost:5555 for "
        f"`kv-offloading-backend: lmcache`{ignored}",
        "without the server vLLM waits minutes for it and ends",
        f"`connector: {CONNECTOR}` and `lmcache_server:` with the size as `l1-size-gb`",
        setting.origin,
    )
