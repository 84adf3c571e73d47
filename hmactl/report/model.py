"""The report as published: ``hmactl schema report`` prints its JSON Schema."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hmactl.account.after_start import Evidence
from hmactl.account.line import Unit
from hmactl.deployment.policy import HmaPolicy
from hmactl.engine.answer import EngineConfig, LogLine
from hmactl.engine.model_origin import ModelOrigin
from hmactl.facts.memory import MemoryOrigin
from hmactl.finding import Severity
from hmactl.verdict.verdict import Decision, EngineDefault


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)


class EngineReport(_Frozen):
    """The engine that answered. ``gpu`` is the name as its driver reports it, or "cpu".

    ``gpu_of_this_machine``: its driver was asked for its figures; else they are the catalogue's.
    """

    vllm: str
    lmcache: str | None
    torch: str
    transformers: str | None
    python: str
    python_path: str
    vllm_path: str
    origin: Literal["dry-boot", "catalogue"]
    gpu: str
    gpu_of_this_machine: bool = False
    stand_ins: tuple[str, ...] = Field(
        description="compiled extensions that this build lacks and that were stood in for"
    )


class ModelReport(_Frozen):
    """Who said what the model looks like; ``as_of`` is the date of a catalogue answer."""

    origin: ModelOrigin
    detail: str
    as_of: str | None


class ConnectorReport(_Frozen):
    """The connector class that really loads; ``supports_hma`` null: it does not load here."""

    name: str
    role: str
    module: str | None
    class_: str | None = Field(alias="class")
    file: str | None
    supports_hma: bool | None
    error: str | None
    children: "tuple[ConnectorReport, ...]"


class VerdictReport(_Frozen):
    """The decision about HMA and the explicit vLLM flag that carries it out."""

    policy: HmaPolicy
    decision: Decision
    engine_default: EngineDefault | None
    flag: str | None
    reason: str


class Spec(_Frozen):
    """A KV cache spec. ``block_size`` in tokens, ``page_size_bytes`` per layer and block."""

    model_config = ConfigDict(extra="allow")

    spec: str
    block_size: int
    page_size_bytes: int


class LayerKind(Spec):
    """``count`` layers with the same spec."""

    count: int
    first_layer: str


class Group(Spec):
    """A KV cache group of ``layers`` layers."""

    layers: int


class PlanSide(_Frozen):
    """The plan with HMA on or off. ``error`` is vLLM's own refusal.

    ``bytes_per_request``: KV cache bytes that one request of max_model_len needs on a rank;
    ``groups`` are known even where memory is short.
    """

    num_blocks: int | None
    tokens: int | None
    max_concurrency: float | None
    block_size: int | None
    max_model_len: int | None
    bytes_per_request: int | None
    groups: tuple[Group, ...]
    error: str | None


class PlanReport(_Frozen):
    """Both plans for the same KV cache memory per rank, in bytes.

    Where ``memory_origin`` is "estimated", ``kv_cache_memory_bytes`` is what is left before
    activations, which may take up to about ``activation_allowance_bytes`` of it.
    """

    kv_cache_memory_bytes: int
    activation_allowance_bytes: int
    memory_origin: MemoryOrigin
    weights_bytes_per_rank: tuple[int, ...]
    layers: tuple[LayerKind, ...]
    layers_per_stage: tuple[tuple[LayerKind, ...], ...]
    attention_backends: tuple[str, ...]
    hma_on: PlanSide
    hma_off: PlanSide


class MemoryLine(_Frozen):
    """One figure in ``unit``, and the words and arithmetic behind it.

    ``low`` is the lower end of a range. What is no estimate is exact.
    """

    name: str
    value: float
    low: float | None
    unit: Unit
    estimate: bool
    how: str


class MemorySection(_Frozen):
    """Figures about one place, and what else is true of it."""

    title: str
    lines: tuple[MemoryLine, ...]
    notes: tuple[str, ...]


class ToVerify(_Frozen):
    """What only a running server can show. ``name``: a metric, or what a log line has in it."""

    id: str
    what: str
    evidence: Evidence
    name: str
    expected: str


class LMCachePlace(_Frozen):
    """Where a setting was written, and how: ``name`` is the key, the variable, or `lmcache.` and
    the key in a connector's extra config. ``line`` and ``column`` are null where it is no file."""

    name: str
    value: str
    path: str
    line: int | None
    column: int | None


class LMCacheSettingReport(_Frozen):
    """A value that LMCache will have, as JSON. ``written`` null: another setting changed it.

    ``overrode`` are the places that this one replaces, the nearest first.
    """

    key: str
    value: str
    default: str
    written: LMCachePlace | None
    overrode: tuple[LMCachePlace, ...]


class LMCacheReport(_Frozen):
    """LMCache inside the vLLM process: its values that are written somewhere or not its default.

    ``file`` is what LMCACHE_CONFIG_FILE names, ``file_read`` whether it is here. ``warnings`` are
    LMCache's own.
    """

    file: str | None
    file_read: bool
    settings: tuple[LMCacheSettingReport, ...]
    warnings: tuple[LogLine, ...]


class FindingReport(_Frozen):
    """A finding; ``line`` and ``column`` are 1-based, null where the origin is no file."""

    id: str
    severity: Severity
    message: str
    consequence: str
    fix: str
    path: str
    line: int | None
    column: int | None
    suppressed: bool = False


class DeploymentReport(_Frozen):
    """One deployment. Parts that could not be learnt are null; ``missing`` says why."""

    source: str
    name: str
    model: str | None
    model_source: ModelReport | None
    engine: EngineReport | None
    config: EngineConfig | None
    connector: ConnectorReport | None
    verdict: VerdictReport
    plan: PlanReport | None
    memory: tuple[MemorySection, ...]
    to_verify: tuple[ToVerify, ...]
    lmcache: LMCacheReport | None
    findings: tuple[FindingReport, ...]
    engine_warnings: tuple[LogLine, ...]
    missing: tuple[str, ...]
    failure: str | None = Field(description="why the engine could not be asked, if so")


class Summary(_Frozen):
    """Findings counted over all deployments."""

    errors: int
    warnings: int
    infos: int
    suppressed: int


class Report(_Frozen):
    """What `hmactl check --format json` prints."""

    schema_: Literal["hmactl-report/1"] = Field("hmactl-report/1", alias="schema")
    deployments: tuple[DeploymentReport, ...]
    summary: Summary


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report."""
    schema = Report.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
