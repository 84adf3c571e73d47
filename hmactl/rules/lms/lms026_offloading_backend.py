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

from hmactl.deployment.deployment import Connector
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import CONNECTOR, OFFLOADING_BACKEND
from hmactl.rules.wording import connector_text

ID = "LMS026"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where vLLM makes the connector to a server of that option."""
    deployment, written = case.facts.deployment, case.facts.connector
    setting = deployment.vllm_setting("kv-offloading-backend")
    if setting is None or str(setting.value).lower() != "lmcache":
        return
    size = deployment.vllm_setting("kv-offloading-size")
    if size is None or CONNECTOR not in case.facts.connector_classes:
        return
    if written is not None and written.name != CONNECTOR:
        return  # CON017
    address = _address(written)
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {case.facts.answer.versions.vllm} looks for an LMCache server at {address} for "
        f"`kv-offloading-backend: lmcache`, and ignores `kv-offloading-size: {size.value}`",
        f"{OFFLOADING_BACKEND}; without the server vLLM waits minutes for it and ends",
        f"{connector_text(case, CONNECTOR)} and an LMCache server with the size as `l1-size-gb`"
        if written is None
        else "remove `kv-offloading-size` and `kv-offloading-backend`; `l1-size-gb` of the server "
        "is the size",
        setting.origin,
    )


def _address(written: Connector | None) -> str:
    extra = {} if written is None else written.extra_config
    if extra.get("lmcache.mp.server_urls"):
        return "the addresses of `lmcache.mp.server_urls`"
    host = str(extra.get("lmcache.mp.host", "localhost")).removeprefix("tcp://")
    return f"{host}:{extra.get('lmcache.mp.port', 5555)}"
