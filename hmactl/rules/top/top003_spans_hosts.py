"""LMCache in the vLLM process cannot look up across hosts.

What: vLLM's scheduler asks the LMCache of every worker what it has, over sockets in the file system
of one host. Workers on another host are never reached.

Why: every lookup waits for its timeout (`lookup_timeout_ms`, 3 seconds) and finds nothing: no hits,
and every request is slower than without LMCache.

Failing example: `pipeline-parallel-size: 2` and `nnodes: 2` with LMCacheConnectorV1.

Passing example: the same on one host, or with LMCacheMPConnector and a server on each host.

Source: `get_zmq_rpc_path_lmcache` in LMCache 0.5.6, and who is asked in its lookup client;
https://github.com/LMCache/LMCache/issues/2755.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings
from hmactl.rules.wording import connector_text

ID = "TOP003"
SEVERITY = Severity.WARNING

# With these the scheduler asks somebody else, or only the workers named.
_OTHER_LOOKUP = (
    *("external_lookup_client", "enable_scheduler_bypass_lookup", "lookup_server_worker_ids"),
    "enable_async_loading",
)


def check(case: Case) -> Iterator[Finding]:
    """One finding where ranks that are asked certainly are on several hosts."""
    settings, config = in_process_settings(case), case.facts.answer.config
    nodes = case.facts.deployment.vllm_setting("nnodes")
    if settings is None or config is None or nodes is None or not isinstance(nodes.value, int):
        return
    if nodes.value < 2 or any(settings.values.get(key) for key in _OTHER_LOOKUP):
        return
    kinds = {layer.spec for stage in case.facts.answer.layers for layer in stage}
    ranks = config.tensor_parallel_size * config.pipeline_parallel_size
    if ranks < nodes.value or not kinds or any("MLA" in kind for kind in kinds):
        return  # of MLA models, which all ranks hold alike, only the first is asked
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache in the vLLM process on {nodes.value} hosts: the scheduler cannot ask the workers "
        "on the others",
        "every lookup waits for its timeout and finds nothing",
        f"{connector_text(case, SERVED)} with a server on each host",
        nodes.origin,
    )
