"""What the dry boot answers. `hmactl.engine.decode` makes it of the JSON that comes back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineError:
    """The engine's own words, and the stage at which it said them.

    The stage "dry-boot" is none of a real start: what failed is building without weights, or
    without the code that a model brings along.
    """

    stage: str = ""
    type: str
    message: str

    @property
    def of_the_dry_boot(self) -> bool:
        """A real start would not have failed here."""
        return self.stage == "dry-boot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What is installed in the target interpreter, and where."""

    vllm: str
    vllm_path: str
    lmcache: str | None
    torch: str
    transformers: str | None
    python: str
    python_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagProblem:
    """A vLLM flag that its parser refuses. ``index`` is the flag's place in the request.

    ``kind``: "unknown" (no such option), "not-boolean" (it cannot be switched off), "value".
    """

    index: int
    kind: str
    message: str
    similar: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HmaState:
    """Whether HMA would be on in this situation, or why the engine refuses to say."""

    on: bool | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hma:
    """HMA by the engine's own decision and under each explicit flag, at configuration time."""

    operator_flag: bool | None
    default: HmaState
    explicit_on: HmaState = HmaState(on=None, error=None)
    explicit_off: HmaState = HmaState(on=None, error=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculative:
    """Speculative decoding: vLLM's name of the method, and draft tokens for a step."""

    method: str | None
    num_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The effective values that the plan and its memory depend on, after the engine's defaults.

    ``graph_memory_reserved``: the memory of CUDA graphs is taken off the KV cache's.
    """

    architectures: tuple[str, ...]
    block_size: int | None
    cache_dtype: str
    data_parallel_size: int
    dtype: str
    enable_prefix_caching: bool
    enforce_eager: bool
    experts_per_token: int | None
    gpu_memory_utilization: float
    hidden_size: int | None
    intermediate_size: int | None
    kv_cache_memory_bytes: int | None
    mamba_cache_mode: str | None
    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    multimodal: bool
    num_gpu_blocks_override: int | None
    pipeline_parallel_size: int
    quantization: str | None
    tensor_parallel_size: int
    vocab_size: int
    cudagraph_mode: str | None = None
    encoder_decoder: bool | None = None
    sleep_mode: bool | None = None
    speculative: Speculative | None = None
    graph_memory_reserved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorAnswer:
    """The connector class that really loads. ``supports_hma`` None: it does not load here.

    ``old_constructor``: it takes no kv_cache_config, for which vLLM does not load it.
    """

    name: str
    role: str
    module: str | None
    class_: str | None
    file: str | None
    supports_hma: bool | None
    error: str | None
    children: "tuple[ConnectorAnswer, ...]" = ()
    reports_failed_blocks: bool | None = None
    old_constructor: bool = False

    def walk(self) -> "Iterator[ConnectorAnswer]":
        """This connector, then its children, theirs right behind each."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A KV cache spec. ``block_size`` in tokens, ``page_size_bytes`` per layer and block.

    ``further`` has the fields that only some kinds of spec have, by vLLM's names.
    """

    spec: str
    block_size: int
    page_size_bytes: int
    further: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind(Spec):
    """``count`` layers with the same spec."""

    count: int
    first_layer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Spec):
    """A KV cache group of ``layers`` layers."""

    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorRefusal:
    """Why a connector would refuse a plan when it is made, in its own words."""

    connector: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanError:
    """The engine's refusal of a plan, in its own words."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The engine's KV cache plan. ``tokens`` and ``max_concurrency`` are what it would log.

    ``bytes_per_request``: KV cache that one request of max_model_len tokens needs on a rank.
    ``refusals_of_others`` are those of connectors that could take the configured one's place.
    """

    error: PlanError | None
    bytes_per_request: int | None = None
    num_blocks: int | None = None
    tokens: int | None = None
    max_concurrency: float | None = None
    block_size: int | None = None
    max_model_len: int | None = None
    groups: tuple[Group, ...] = ()
    connector_refusals: tuple[ConnectorRefusal, ...] = ()
    refusals_of_others: tuple[ConnectorRefusal, ...] = ()

    @property
    def capacity(self) -> int | None:
        """Tokens that requests of max_model_len can hold, which plans can be compared by.

        Up to vLLM 0.20.0 ``tokens`` is what one of the groups holds, whatever windows save.
        """
        if self.tokens is None or self.max_concurrency is None or self.max_model_len is None:
            return self.tokens
        held = int(self.max_concurrency * self.max_model_len)
        return held if held > self.tokens + 1 else self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Both plans for the same memory."""

    hma_on: Plan
    hma_off: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class LMCacheSettings:
    """What the installed LMCache makes of the deployment's settings.

    ``values`` are its loader's, after a connector's ``lmcache.*``; ``defaults`` what it gives where
    nothing is set. ``old_names`` are older keys that it takes, with today's. ``unknown`` has the
    keys, variables and ``lmcache.*`` keys that nothing reads, each with similar names,
    ``unknown_in_file`` those of its file. ``unreadable`` are the variables and ``lmcache.*`` keys
    whose values its converters refuse. ``refusal`` is why LMCache would refuse them itself.

    ``hashes_differ``: two processes hash the same tokens differently. ``hash_loads``: vLLM has the
    hash algorithm. ``remotes`` are the addresses of remote stores, each with why LMCache goes on
    without it, None where it does not. ``server_options`` are those of ``lmcache server``, where
    there is one, ``server_refusal`` why it would end at once.
    """

    values: dict[str, Any]
    unknown: dict[str, tuple[str, ...]]
    defaults: dict[str, Any] = field(default_factory=dict)
    old_names: dict[str, str] = field(default_factory=dict)
    unknown_in_file: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    refusal: str | None = None
    hashes_differ: bool = False
    hash_loads: bool | None = None
    remotes: dict[str, str | None] = field(default_factory=dict)
    server_options: tuple[str, ...] = ()
    server_refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LMCacheChunk:
    """What LMCache in the vLLM process stores of a chunk of ``tokens``, by its own metadata.

    ``bytes_per_stage`` are those of one worker of each pipeline stage. ``storing_ranks`` are the
    workers that allocate memory for it; None: this LMCache does it in a way that is not known.
    ``takes_what_is_free``: where the host has less than was asked for, LMCache takes that.
    """

    tokens: int
    bytes_per_stage: tuple[int, ...]
    mla: bool
    storing_ranks: tuple[int, ...] | None
    takes_what_is_free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LMCacheOperations:
    """LMCache's compiled CUDA operations beside a torch for CUDA; ``error`` is the loader's."""

    module: str
    error: str | None
    torch_cuda: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the engine's code does with connectors that no configuration shows. None: not known.

    ``transfer_fields`` are KVTransferConfig's, and ``ignores_unknown_fields`` what becomes of
    others. ``refuses_external_mamba_hits``: a hit in a connector ends the engine in align mode.
    ``requires_whole_mamba_blocks``: a prompt only advances by whole blocks in align mode.
    ``one_group_load_failures``: a block that failed to load ends the engine where there are several
    KV cache groups. ``registers_models_with_lmcache``: LMCache's blending finds vLLM's model.
    ``tells_connectors_of_sleep``: before the memory of the KV cache is given up in sleep mode.
    ``variables`` are those of the environment that vLLM reads.
    """

    transfer_fields: tuple[str, ...] = ()
    ignores_unknown_fields: bool | None = None
    refuses_encoder_decoder: bool | None = None
    refuses_external_mamba_hits: bool | None = None
    requires_whole_mamba_blocks: bool | None = None
    one_group_load_failures: bool | None = None
    registers_models_with_lmcache: bool | None = None
    tells_connectors_of_sleep: bool | None = None
    variables: tuple[str, ...] = ()
    lmcache_operations: LMCacheOperations | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A warning or error that the engine logged."""

    logger: str
    level: str
    message: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A dry boot. Where ``error`` is set, what comes after its stage is missing.

    ``weights`` is bytes per pipeline stage (its first tensor-parallel rank), ``layers`` the layer
    kinds of each stage.
    """

    error: EngineError | None
    missing: tuple[str, ...] = ()
    warnings: tuple[LogLine, ...] = ()
    versions: Versions
    stand_ins: tuple[str, ...] = ()
    flag_problems: tuple[FlagProblem, ...] = ()
    connectors: tuple[str, ...] = ()
    hma: Hma | None = None
    config: EngineConfig | None = None
    connector: ConnectorAnswer | None = None
    connectors_with_hma: tuple[ConnectorAnswer, ...] = ()
    weights: tuple[int, ...] = ()
    layers: tuple[tuple[LayerKind, ...], ...] = ()
    attention_backends: tuple[str, ...] = ()
    plan: Plans | None = None
    lmcache: LMCacheSettings | None = None
    traits: Traits | None = None
    lmcache_chunk: LMCacheChunk | None = None
