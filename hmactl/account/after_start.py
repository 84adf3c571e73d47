"""What only a running server can show of a deployment, and where it shows it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hmactl.deployment.size import format_gib
from hmactl.engine.answer import Plan
from hmactl.facts import lmcache, lmcache_memory
from hmactl.facts.facts import Facts
from hmactl.facts.memory import MemoryOrigin


class Evidence(StrEnum):
    """Where it shows: a line that vLLM logs, or a metric of vLLM or of the LMCache server."""

    LOG = "log"
    METRIC = "metric"
    SERVER_LOG = "LMCache server's log"
    SERVER_METRIC = "LMCache server's metric"


@dataclass(frozen=True, slots=True)
class Check:
    """``name`` is the metric, or what the log line has in it; ``expected`` what it should say."""

    id: str
    what: str
    evidence: Evidence
    name: str
    expected: str


def to_verify(facts: Facts, *, hma_on: bool) -> tuple[Check, ...]:
    """What to look at once this deployment serves, in the order in which it shows.

    Nothing where there is no plan with which it would start.
    """
    plans = facts.answer.plan
    plan = None if plans is None else plans.hma_on if hma_on else plans.hma_off
    if plan is None or plan.error is not None:
        return ()
    return (*_kv_cache(facts, plan), *_connectors(facts))


def _kv_cache(facts: Facts, plan: Plan) -> Iterator[Check]:
    memory = facts.memory
    if memory is None:
        return
    if memory.origin is MemoryOrigin.ESTIMATED:
        low, high = format_gib(memory.smallest_low), format_gib(memory.smallest)
        yield Check(
            "kv-cache-memory",
            "KV cache memory is as estimated",
            Evidence.LOG,
            "Available KV cache memory",
            f"from {low} to {high} on every rank",
        )
    elif plan.tokens is not None:
        yield Check(
            "kv-cache-size",
            "the KV cache is as planned",
            Evidence.LOG,
            "GPU KV cache size",
            f"{plan.tokens:,} tokens",
        )


def _connectors(facts: Facts) -> Iterator[Check]:
    connector = facts.answer.connector
    if connector is None:
        return
    names = facts.connector_classes
    if lmcache.in_process(facts) is not None:
        yield from _in_process(facts)
    if lmcache.SERVED in names:
        yield from _served()
    if "NixlConnector" in names:
        yield Check(
            "nixl-transfers",
            "no transfer between prefill and decode fails",
            Evidence.METRIC,
            "vllm:nixl_num_failed_transfers_total",
            "0",
        )
    if connector.role != "kv_producer" and connector.supports_hma is not None:
        yield Check(
            "external-hits",
            "the connector finds what it stored",
            Evidence.METRIC,
            "vllm:external_prefix_cache_hits_total",
            f"more than 0 after {_prompt(facts)} was sent again that the GPU no longer has",
        )


def _prompt(facts: Facts) -> str:
    tokens = lmcache_memory.chunk_tokens(facts) or lmcache_memory.server_chunk_tokens(facts)
    return "a prompt" if tokens is None else f"a prompt of more than {tokens} tokens"


def _in_process(facts: Facts) -> Iterator[Check]:
    yield Check(
        "lmcache-started",
        "LMCache allocated and pinned its memory, and serves",
        Evidence.LOG,
        "System will operate in degraded mode",
        "no such line",
    )
    memory = lmcache_memory.host_memory(facts)
    if memory is not None and memory.takes_what_is_free and memory.sizes:
        size = memory.sizes[0] / 2**30
        yield Check(
            "lmcache-memory",
            "the host had the memory that LMCache was to take",
            Evidence.LOG,
            "Adjusted CPU memory size",
            f"to {size:.2f} GB",
        )


def _served() -> Iterator[Check]:
    yield Check(
        "lmcache-server",
        "vLLM reaches the LMCache server",
        Evidence.LOG,
        "LMCache server is unhealthy",
        "no such line",
    )
    yield Check(
        "lmcache-server-memory",
        "the LMCache server's L1 has room for what is stored",
        Evidence.SERVER_METRIC,
        "lmcache_mp_l1_allocation_failure_chunks_total",
        "0, or absent",
    )
