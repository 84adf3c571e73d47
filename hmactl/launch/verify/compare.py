"""Hold what a server says of itself against the plan."""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.catalogue.server_metrics import counts, first_that_counts
from hmactl.facts.memory import MemoryOrigin
from hmactl.launch.verify.found import Cache, Found
from hmactl.launch.verify.result import Comparison, State
from hmactl.report.model import DeploymentReport, PlanSide
from hmactl.report.redact import redact
from hmactl.verdict.verdict import HMA_OFF

_METRICS = "vllm:cache_config_info"
_DEV_MODE = "only a server with VLLM_SERVER_DEV_MODE=1 tells"
_NOT_LOGGED = "give its log with --log"
_DEGRADED = "System will operate in degraded mode"
_ABSENT = "no such line"


@dataclass(frozen=True, slots=True)
class _Expected:
    """A planned number; ``low`` is the smallest as planned where memory was estimated."""

    value: float | None
    low: float | None = None


def compare(planned: DeploymentReport | None, found: Found) -> tuple[Comparison, ...]:
    """Everything that can be held against the plan, and what the server says without one."""
    side = None if planned is None else _side(planned)
    lines = [
        *_model(planned, found),
        _length(side, found),
        *_cache(planned, side, found),
        _hma(planned, found),
        _groups(side, found),
        _connector(planned, found),
        *_log(planned, found),
    ]
    return tuple(lines)


def _side(planned: DeploymentReport) -> PlanSide | None:
    plan = planned.plan
    if plan is None or planned.verdict.flag is None:
        return None
    side = plan.hma_off if planned.verdict.flag == HMA_OFF else plan.hma_on
    return None if side.error is not None else side


def _model(planned: DeploymentReport | None, found: Found) -> Iterator[Comparison]:
    model = None if planned is None else planned.model
    root = None if found.root is None else redact(found.root)
    yield _equal("model", "model", model, root, "/v1/models")
    version = None if planned is None or planned.engine is None else planned.engine.vllm
    # A build's own part of the version, such as +cpu, does not stand in every place.
    same = version and found.version and version.split("+")[0] == found.version.split("+")[0]
    yield _equal("version", "vLLM", version, version if same else found.version, "/version")


def _length(side: PlanSide | None, found: Found) -> Comparison:
    value = None if side is None else side.max_model_len
    return _number(
        "max-model-len", "max model length", _Expected(value), found.max_model_len, "/v1/models"
    )


def _cache(
    planned: DeploymentReport | None, side: PlanSide | None, found: Found
) -> Iterator[Comparison]:
    low = _low_share(planned)
    for cache in found.caches:
        yield from _one_cache(side, cache, found, low)


def _one_cache(
    side: PlanSide | None, cache: Cache, found: Found, low: float | None
) -> Iterator[Comparison]:
    several = len(found.caches) > 1
    where = f"{_METRICS} of engine {cache.engine}" if several else _METRICS
    whose = f", engine {cache.engine}" if several else ""

    def expected(value: float | None) -> _Expected:
        return _Expected(value, None if value is None or low is None else value * low)

    blocks, tokens, concurrency = (
        (None, None, None) if side is None else (side.num_blocks, side.tokens, side.max_concurrency)
    )
    block_size = None if side is None else side.block_size
    size = _Expected(block_size)
    yield _number("block-size", f"block size{whose}", size, cache.block_size, where)
    yield _number("blocks", f"blocks{whose}", expected(blocks), cache.num_blocks, where)
    logged_tokens = None if found.log is None else found.log.tokens
    logged_concurrency = None if found.log is None else found.log.concurrency
    for id_, what, label, value, counted, logged in (
        (
            *("tokens", "KV cache tokens", "kv_cache_size_tokens"),
            *(tokens, cache.tokens, logged_tokens),
        ),
        (
            *("concurrency", "max concurrency", "kv_cache_max_concurrency"),
            *(concurrency, cache.concurrency, logged_concurrency),
        ),
    ):
        from_metrics = counted is not None
        yield _number(
            id_,
            f"{what}{whose}",
            expected(value),
            counted if from_metrics else logged,
            where if from_metrics else "log",
            unknown=_why_uncounted(label, found),
        )


def _why_uncounted(label: str, found: Found) -> str:
    where = "its log does not say" if found.log else _NOT_LOGGED
    if counts(label, found.version) is not False:
        return f"neither {_METRICS} nor its log says" if found.log else f"{_METRICS} does not say"
    return f"{_METRICS} has it from vLLM {first_that_counts(label)} on; {where}"


def _low_share(planned: DeploymentReport | None) -> float | None:
    """The smallest KV cache as a share of the planned one, which is its upper end."""
    plan = None if planned is None else planned.plan
    if plan is None or plan.memory_origin is not MemoryOrigin.ESTIMATED:
        return None
    left = plan.kv_cache_memory_bytes - plan.activation_allowance_bytes
    return max(0.0, left / max(1, plan.kv_cache_memory_bytes))


def _hma(planned: DeploymentReport | None, found: Found) -> Comparison:
    flag = None if planned is None else planned.verdict.flag
    wanted = None if flag is None else "off" if flag == HMA_OFF else "on"
    if found.hma_on is not None:
        source: str | None = "/server_info"
        state: str | None = "on" if found.hma_on else "off"
    else:
        state, source = _hma_by_blocks(planned, found)
    return _equal(
        "hma",
        "HMA",
        wanted,
        state,
        source,
        meaning="what was checked does not run",
        unknown=_DEV_MODE,
    )


def _hma_by_blocks(planned: DeploymentReport | None, found: Found) -> tuple[str | None, str | None]:
    """The state whose plan the blocks or tokens fit, where the other's does not."""
    plan = None if planned is None else planned.plan
    cache = found.smallest
    if plan is None or cache is None or plan.memory_origin is MemoryOrigin.ESTIMATED:
        return None, None
    tokens = cache.tokens if cache.tokens is not None else found.log and found.log.tokens
    fits = {
        name: cache.num_blocks == side.num_blocks and (tokens is None or tokens == side.tokens)
        for name, side in (("on", plan.hma_on), ("off", plan.hma_off))
    }
    if fits["on"] is fits["off"]:
        return None, None
    return next(name for name in fits if fits[name]), "blocks and tokens fit no other plan"


def _groups(side: PlanSide | None, found: Found) -> Comparison:
    wanted = None if side is None or not side.groups else len(side.groups)
    count = None if found.log is None else found.log.groups
    why = "its log does not say" if found.log is not None else f"vLLM only logs it: {_NOT_LOGGED}"
    return _number("groups", "KV cache groups", _Expected(wanted), count, "log", unknown=why)


def _connector(planned: DeploymentReport | None, found: Found) -> Comparison:
    wanted: str | None = None
    if planned is not None and planned.engine is not None:
        wanted = "none" if planned.connector is None else planned.connector.name
    name: str | None = None
    source: str | None = None
    if found.connector is not None:
        name, source = found.connector.name or "none", "/server_info"
    elif found.log is not None and found.log.tokens is not None:
        # A MultiConnector is made before its children are.
        name, source = next(iter(found.log.connectors), "none"), "log"
    return _equal(
        "connector",
        "connector",
        wanted,
        name,
        source,
        meaning="what was checked does not run",
        unknown=f"{_DEV_MODE}, or its log: {_NOT_LOGGED}",
    )


def _log(planned: DeploymentReport | None, found: Found) -> Iterator[Comparison]:
    """Lines that must not be in the log."""
    checks = {_DEGRADED: ("lmcache-started", "LMCache started")}
    for check in () if planned is None else planned.to_verify:
        if check.expected == _ABSENT:
            checks[check.name] = (check.id, check.what)
    for words, (id_, what) in checks.items():
        if found.log is None:
            if planned is not None and any(words == check.name for check in planned.to_verify):
                yield _equal(id_, what, f"no `{words}`", None, None, unknown=_NOT_LOGGED)
            continue
        line = found.log.line(words)
        if line is None and planned is None:
            continue
        yield Comparison(
            id=id_,
            what=what,
            planned=f"no `{words}`",
            found="no such line" if line is None else redact(line)[:400],
            state=State.SAME if line is None else State.DIFFERS,
            source="log",
            meaning=None if line is None else "the server answers and caches nothing there",
        )


def _equal(
    id_: str,
    what: str,
    planned: str | None,
    found: str | None,
    source: str | None,
    *,
    meaning: str | None = None,
    unknown: str | None = None,
) -> Comparison:
    state = State.SAME if planned == found else State.DIFFERS
    if planned is None or found is None:
        state = State.UNKNOWN
    return Comparison(
        id=id_,
        what=what,
        planned=planned,
        found=found,
        state=state,
        source=None if found is None else source,
        meaning=unknown if found is None else meaning if state is State.DIFFERS else None,
    )


def _number(
    id_: str,
    what: str,
    planned: _Expected,
    found: float | None,
    source: str,
    *,
    unknown: str | None = None,
) -> Comparison:
    wanted, meaning = planned.value, None
    state = State.UNKNOWN
    if wanted is not None and found is not None:
        low = wanted if planned.low is None else planned.low
        # Concurrency has as many digits as its source gives; whole numbers are exact.
        slack = 0 if isinstance(wanted, int) else 0.006
        fits = low - slack <= found <= wanted + slack
        state = State.SAME if fits else State.DIFFERS
        meaning = None if fits else _direction(found, low, wanted)
    text = None if wanted is None else _shown(wanted)
    if wanted is not None and planned.low is not None:
        low = planned.low
        text = f"{_shown(int(low) if isinstance(wanted, int) else low)} to {text}"
    return Comparison(
        id=id_,
        what=what,
        planned=text,
        found=None if found is None else _shown(found),
        state=state,
        source=None if found is None else source,
        meaning=unknown if found is None else meaning,
    )


def _direction(found: float, low: float, wanted: float) -> str | None:
    if found > wanted:
        return f"{found / wanted - 1:+.1%}, more than planned" if wanted else "more than planned"
    return f"{found / low - 1:+.1%}, less than planned" if low else "less than planned"


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}x"
