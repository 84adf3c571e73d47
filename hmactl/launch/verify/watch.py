"""What a server does with its KV cache, from one look at its metrics to the next."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hmactl.launch.verify.metrics import Metrics
from hmactl.launch.verify.server import NoAnswerError, Server

_USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
_SOURCES = "vllm:prompt_tokens_by_source_total"
_COUNTERS = {
    "preemptions": "num_preemptions",
    "prompt": "prompt_tokens",
    "generated": "generation_tokens",
    "local_queries": "prefix_cache_queries",
    "local_hits": "prefix_cache_hits",
    "external_queries": "external_prefix_cache_queries",
    "external_hits": "external_prefix_cache_hits",
}
EXTERNAL, LOCAL, COMPUTED = "external_kv_transfer", "local_cache_hit", "local_compute"


@dataclass(frozen=True, slots=True)
class Look:
    """The metrics at one time, in seconds of a clock that only goes forward.

    ``usage`` is the share of the fullest engine's KV cache. ``sources`` are prompt tokens by where
    they came from. What a release does not count is None, or not in ``counters``.
    """

    at: float
    usage: float | None
    running: int | None
    waiting: int | None
    counters: Mapping[str, float]
    sources: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened between two looks; None where the release does not count it, or nothing was
    asked for. ``external`` and ``local`` are shares of the tokens that were looked up there,
    ``per_second`` prompt tokens by source, ``generated`` tokens a second.

    ``restarted``: a counter went back, so that this counts from the restart on.
    """

    now: Look
    restarted: bool
    external: float | None
    local: float | None
    preemptions: int | None
    generated: float | None
    per_second: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Silence:
    """The server did not answer; ``reason`` is a sentence's end."""

    reason: str


def watch(server: Server, interval: float) -> Iterator[Change | Silence]:
    """Look every ``interval`` seconds, for ever; the first look is not told."""
    before: Look | None = None
    due = time.monotonic()
    while True:
        try:
            now = look(Metrics(server.text("/metrics")), time.monotonic())
        except NoAnswerError as error:
            yield Silence(str(error))
        else:
            if before is not None:
                yield change(before, now)
            before = now
        due = max(due + interval, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def look(metrics: Metrics, at: float) -> Look:
    """The metrics that matter of one answer."""
    usages = [one.value for name in _USAGE for one in metrics.samples(name)]
    totals = {
        name: metrics.total(f"vllm:{metric}_total", f"vllm:{metric}")
        for name, metric in _COUNTERS.items()
    }
    sources: dict[str, float] = {}
    for sample in metrics.samples(_SOURCES):
        name = sample.labels.get("source", "")
        sources[name] = sources.get(name, 0.0) + sample.value
    counters = {name: total for name, total in totals.items() if total is not None}
    return Look(
        at,
        max(usages, default=None),
        _whole(metrics.total("vllm:num_requests_running")),
        _whole(metrics.total("vllm:num_requests_waiting")),
        counters,
        sources or _by_hits(counters),
    )


def change(before: Look, now: Look) -> Change:
    """What happened between two looks at the same server."""
    restarted = any(now.counters.get(name, 0.0) < value for name, value in before.counters.items())
    counters, sources = ({}, {}) if restarted else (before.counters, before.sources)

    def since(name: str) -> float | None:
        value = now.counters.get(name)
        return None if value is None else value - counters.get(name, 0.0)

    seconds = max(1e-3, now.at - before.at)
    generated = since("generated")
    return Change(
        now,
        restarted,
        _share(since("external_hits"), since("external_queries")),
        _share(since("local_hits"), since("local_queries")),
        _whole(since("preemptions")),
        None if generated is None else generated / seconds,
        {
            name: max(0.0, value - sources.get(name, 0.0)) / seconds
            for name, value in now.sources.items()
        },
    )


def _by_hits(counters: Mapping[str, float]) -> Mapping[str, float]:
    """The sources as releases before 0.16.0 let them be known."""
    names = ("prompt", "local_hits", "external_hits")
    if any(name not in counters for name in names):
        return {}
    prompt, local, external = (counters[name] for name in names)
    return {EXTERNAL: external, LOCAL: local, COMPUTED: max(0.0, prompt - local - external)}


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
