"""Several LMCache servers with a parallelism that they do not serve.

What: with more than one entry in `lmcache.mp.server_urls` LMCacheMPConnector divides the ranks
among the servers. It does so for tensor parallelism only, and evenly.

Why: vLLM ends when it makes the connector, after loading the weights.

Failing example: two `lmcache.mp.server_urls` with `pipeline-parallel-size: 2`.

Passing example: the same with `tensor-parallel-size: 2`.

Source: `LMCacheMPConnector.__init__` in LMCache 0.5.0 to 0.5.6;
https://github.com/vllm-project/vllm/issues/48236.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Json
from hmactl.engine.answer import EngineConfig
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "TOP005"
SEVERITY = Severity.ERROR

_KEY = "lmcache.mp.server_urls"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each connector with servers that the ranks cannot be divided among."""
    config, settings = case.facts.answer.config, case.facts.answer.lmcache
    if config is None or settings is None:
        return
    for connector in served_connectors(case):
        servers = _count(connector.extra_config.get(_KEY))
        if servers < 2 or _KEY in settings.unknown:
            continue
        if (reason := _reason(config, servers)) is None:
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"{servers} LMCache servers in `{_KEY}` with {reason}",
            "vLLM ends after loading the weights, when it makes the connector",
            "one server, or tensor parallelism that the number of servers divides",
            connector.origin,
        )


def _count(urls: Json) -> int:
    listed = urls.split(",") if isinstance(urls, str) else urls
    return len([u for u in listed if str(u).strip()]) if isinstance(listed, list) else 0


def _reason(config: EngineConfig, servers: int) -> str | None:
    if config.data_parallel_size > 1:
        return "data parallelism"
    if config.pipeline_parallel_size > 1:
        return "pipeline parallelism"
    if config.tensor_parallel_size % servers:
        return f"{config.tensor_parallel_size} ranks, which they do not divide"
    return None
