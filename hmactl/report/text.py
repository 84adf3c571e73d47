"""The report for a person at a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from hmactl.deployment.setting import Origin
from hmactl.deployment.size import format_gib
from hmactl.engine.model_origin import ModelOrigin
from hmactl.facts.memory import MemoryOrigin
from hmactl.finding import Finding, Severity
from hmactl.report.finding_text import Style, finding_lines, plain
from hmactl.report.lmcache import lmcache_lines
from hmactl.report.memory_text import render_memory, render_to_verify
from hmactl.report.model import (
    ConnectorReport,
    DeploymentReport,
    FindingReport,
    Group,
    LayerKind,
    PlanReport,
    PlanSide,
    Report,
)
from hmactl.verdict.verdict import Decision

_LABEL_WIDTH = 11
_DECISIONS = {
    Decision.KEEP: ("HMA stays on", "good"),
    Decision.DISABLE: ("HMA is switched off", "warning"),
    Decision.REFUSE: ("cannot work as configured", "error"),
    Decision.IRRELEVANT: ("HMA changes nothing", "good"),
    Decision.UNKNOWN: ("something is missing to know", "warning"),
}


def render_text(
    report: Report,
    style: Style = plain,
    *,
    verbose: bool = False,
    explain_memory: bool = False,
) -> str:
    """Every deployment in turn, then the count of findings. Ends without a newline.

    ``verbose`` adds the engine's own warnings and the file of the connector, ``explain_memory``
    the arithmetic behind its memory.
    """
    parts = [
        "\n".join(_deployment(one, style, verbose=verbose, explain_memory=explain_memory))
        for one in report.deployments
    ]
    return "\n\n".join([*parts, _summary(report)])


def render_findings(findings: Iterable[FindingReport], style: Style = plain) -> Iterator[str]:
    """Compiler-style findings: place, severity, id and message; source line; consequence; fix."""
    for one in findings:
        origin = Origin(one.path, one.line, one.column)
        finding = Finding(
            one.id, Severity(one.severity), one.message, one.consequence, one.fix, origin
        )
        yield from finding_lines(finding, _source_line(one), style)


def _deployment(
    one: DeploymentReport, style: Style, *, verbose: bool, explain_memory: bool
) -> Iterator[str]:
    yield style(one.name, "bold") + ("" if one.source == one.name else f"  ({one.source})")
    if one.model is not None:
        yield _line("model", _model(one))
    if one.engine is not None:
        yield _line("engine", _engine(one))
    if one.connector is not None:
        yield from _connector(one.connector, verbose=verbose)
    if one.plan is not None:
        yield from _plan(one.plan, one)
    if explain_memory:
        yield from render_memory(one.memory)
    if one.lmcache is not None:
        yield from lmcache_lines(one.lmcache)
    words, colour = _DECISIONS[one.verdict.decision]
    flag = f" ({one.verdict.flag})" if one.verdict.flag else ""
    yield ""
    yield f"verdict: {style(str(one.verdict.decision), colour)}, {words}{flag}"
    yield f"  {one.verdict.reason}"
    if one.verdict.engine_default is not None:
        yield f"  left to itself, vLLM: HMA {one.verdict.engine_default}"
    for missing in one.missing:
        yield f"  not known: {missing}"
    if one.failure is not None:
        yield from (f"  {line}" for line in one.failure.splitlines()[1:])
    if verbose and one.engine_warnings:
        yield ""
        yield "vLLM's own warnings:"
        for line in one.engine_warnings:
            yield f"  {line.logger} {line.where}: {line.message.strip()}"
    if one.findings:
        yield ""
        yield from render_findings(one.findings, style)
    yield from render_to_verify(one.to_verify)


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{text}"


def _model(one: DeploymentReport) -> str:
    source = one.model_source
    if source is None:
        return str(one.model)
    match source.origin:
        case ModelOrigin.CATALOGUE:
            return f"{one.model} (facts from hmactl's catalogue, as of {source.as_of})"
        case ModelOrigin.DIRECTORY:
            return f"{one.model} (config.json of that directory)"
        case ModelOrigin.CACHE:
            return f"{one.model} (config.json from the Hugging Face cache)"
    return f"{one.model} (config.json from {source.detail})"


def _engine(one: DeploymentReport) -> str:
    engine = one.engine
    if engine is None:
        return "none"
    lmcache = f"LMCache {engine.lmcache}" if engine.lmcache else "no LMCache"
    if engine.gpu == "cpu":
        on = "plain CPU platform"
    elif engine.gpu_of_this_machine:
        on = f"{engine.gpu}, as this machine's driver describes it"
    else:
        on = f"virtual {engine.gpu}"
    return f"vLLM {engine.vllm}, {lmcache}, torch {engine.torch}, Python {engine.python}; {on}"


def _connector(connector: ConnectorReport, *, verbose: bool, depth: int = 0) -> Iterator[str]:
    support = {True: "supports HMA", False: "does not support HMA", None: "does not load here"}
    loaded = ""
    if connector.module is not None:
        loaded = f" = {connector.module}.{connector.class_}"
    text = f"{'  ' * depth}{connector.name}{loaded}: {support[connector.supports_hma]}"
    yield _line("connector" if not depth else "", text)
    if verbose and connector.file:
        yield _line("", f"{'  ' * depth}{connector.file}")
    for child in connector.children:
        yield from _connector(child, verbose=verbose, depth=depth + 1)


def _plan(plan: PlanReport, one: DeploymentReport) -> Iterator[str]:
    per = " per rank" if _ranks(one) > 1 else ""
    yield _line("weights", ", ".join(map(format_gib, plan.weights_bytes_per_rank)) + per)
    memory = f"{format_gib(plan.kv_cache_memory_bytes)}{per}"
    if plan.memory_origin is MemoryOrigin.ESTIMATED:
        reserved = one.config is not None and one.config.graph_memory_reserved
        before = "activations and CUDA graphs" if reserved else "activations"
        memory = (
            f"about {memory}: an estimate before {before}, which may take up to "
            f"{format_gib(plan.activation_allowance_bytes)}"
        )
    yield _line("KV memory", memory)
    yield ""
    yield from _table(
        ["layers", "KV cache spec", "block", "page", "heads x size", "window"],
        [_layer_row(layer) for stage in plan.layers_per_stage for layer in stage],
    )
    if plan.attention_backends:
        yield _line("", f"attention: {', '.join(plan.attention_backends)}")
    yield ""
    on, off = plan.hma_on, plan.hma_off
    rows = [
        ["KV cache groups", _groups(on.groups), _groups(off.groups)],
        ["blocks", _number(on.num_blocks), _number(off.num_blocks)],
        ["tokens", _number(on.tokens), _number(off.tokens) + _percent(on, off)],
        ["max concurrency", _concurrency(on), _concurrency(off)],
        ["one request needs", _bytes(on), _bytes(off)],
    ]
    yield from _table(["plan", "HMA on", "HMA off"], rows)
    for name, side in (("on", on), ("off", off)):
        if side.error is not None:
            yield f"  HMA {name}, vLLM says: {side.error.splitlines()[0]}"


def _ranks(one: DeploymentReport) -> int:
    config = one.config
    if config is None:
        return 1
    return config.tensor_parallel_size * config.pipeline_parallel_size


def _layer_row(layer: LayerKind) -> list[str]:
    extra = layer.model_extra or {}
    heads = extra.get("num_kv_heads")
    shape = f"{heads} x {extra.get('head_size')}" if heads is not None else "state"
    window = extra.get("sliding_window") or extra.get("attention_chunk_size") or ""
    page = f"{layer.page_size_bytes:,} B"
    return [str(layer.count), layer.spec, str(layer.block_size), page, shape, str(window)]


def _groups(groups: Sequence[Group]) -> str:
    kinds = []
    for (spec, block), members in groupby(groups, key=lambda g: (g.spec, g.block_size)):
        counts = "+".join(str(group.layers) for group in members)
        kinds.append(f"{counts} {spec.removesuffix('Spec')} of {block}")
    return ", ".join(kinds) or "none"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _percent(on: PlanSide, off: PlanSide) -> str:
    if not on.tokens or not off.tokens or on.tokens == off.tokens:
        return ""
    ratio = held = off.tokens / on.tokens
    if on.max_concurrency and off.max_concurrency:
        held = off.max_concurrency / on.max_concurrency
    # Up to vLLM 0.20.0 the tokens of the two cannot be compared.
    return "" if abs(held - ratio) > 0.01 * ratio else f" ({ratio - 1:+.0%})"


def _concurrency(side: PlanSide) -> str:
    if side.max_concurrency is None:
        return "does not start"
    return f"{side.max_concurrency:.2f}x of {_number(side.max_model_len)} tokens"


def _bytes(side: PlanSide) -> str:
    return "-" if side.bytes_per_request is None else format_gib(side.bytes_per_request)


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()


def _source_line(finding: FindingReport) -> str | None:
    if finding.line is None:
        return None
    try:
        with Path(finding.path).open(encoding="utf-8", errors="replace") as file:
            return next((text for n, text in enumerate(file, 1) if n == finding.line), None)
    except (OSError, ValueError):
        return None


def _summary(report: Report) -> str:
    counts = report.summary
    unchecked = sum(one.failure is not None for one in report.deployments)
    if unchecked:
        return f"{unchecked} of {len(report.deployments)} deployments could not be checked"
    if not (counts.errors or counts.warnings or counts.infos):
        return "no findings"
    parts = [
        f"{n} {word}{'' if n == 1 else 's'}"
        for n, word in (
            (counts.errors, "error"),
            (counts.warnings, "warning"),
            (counts.infos, "info"),
        )
        if n
    ]
    return ", ".join(parts)
