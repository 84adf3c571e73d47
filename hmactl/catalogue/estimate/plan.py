"""The estimator: from a config.json and a deployment's settings to the KV cache plan."""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hmactl.catalogue.estimate import backend, groups
from hmactl.catalogue.estimate.architectures import model_of
from hmactl.catalogue.estimate.attention import INDEXER_BYTES
from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.forms import forms_of
from hmactl.catalogue.estimate.groups import CannotUnifyError, Group, Layer
from hmactl.catalogue.estimate.hybrid import MODEL_DTYPE, SSM_DTYPE
from hmactl.catalogue.estimate.model import Attention, Latent, Model, State
from hmactl.catalogue.estimate.question import Question, UnknownError
from hmactl.catalogue.estimate.releases import Release, releases
from hmactl.catalogue.estimate.specs import (
    CHUNKED,
    DTYPE_BYTES,
    FP8,
    FULL,
    MAMBA,
    MLA,
    SLIDING,
    Need,
    Spec,
)
from hmactl.catalogue.gpus import Gpu

_GIB = 1 << 30
# What vLLM batches by itself on small GPUs, and on an A100 of any size.
_FEWEST_BATCHED_TOKENS = 2048
# vLLM makes the blocks of MLA beside states a multiple of this, for its kernels.
_LATENT_ALIGNMENT = 128


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the dry boot would say, in its JSON form, or why that is not known.

    ``layers`` are the layer kinds of each pipeline stage, ``hma_on`` and ``hma_off`` the plans.
    """

    unknown: str | None = None
    layers: tuple[tuple[dict[str, Any], ...], ...] = ()
    max_model_len: int | None = None
    hma_on: dict[str, Any] | None = None
    hma_off: dict[str, Any] | None = None


def estimate(question: Question) -> Estimate:
    """Layers, groups, and for a given memory blocks, tokens and concurrency."""
    answers = []
    try:
        for release in releases(question.vllm):
            answer, forms = estimate_as(question, release)
            release.check(forms, backend.generation(question.gpu))
            answers.append(answer)
    except UnknownError as reason:
        return Estimate(unknown=str(reason))
    if any(answer != answers[0] for answer in answers):
        return Estimate(unknown="vLLM's releases differ here, and which it is, is not known")
    return answers[0]


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the layers' specs depend on, besides the model."""

    block_size: int
    kv_dtype: str
    mamba_block_size: int
    mamba_page: int | None
    model_dtype: str
    release: Release


def estimate_as(question: Question, release: Release) -> tuple[Estimate, frozenset[str]]:
    """What this release would do, and what it has to have been checked for.

    Raises UnknownError.
    """
    if question.speculative:
        raise UnknownError("a draft's layers join the KV cache groups")
    if question.attention_backend is not None:
        raise UnknownError("an attention backend was asked for")
    config = ModelConfig(question.config)
    model = model_of(config, question.tensor_parallel_size)
    _check_tower(config, question.tensor_parallel_size)
    layers = _specs(question, config, model, release)
    fp8 = any(layer.spec.dtype == FP8 for layer in layers if layer.spec.head_size != INDEXER_BYTES)
    stages = _stages(model.depth, question.pipeline_parallel_size)
    length = config.max_model_len(question.max_model_len)
    need = Need(
        max_model_len=length,
        in_flight=_in_flight(question, config, length, release, layers),
        aligned_states=_align(question, release),
        decode_context_parallel_size=question.decode_context_parallel_size,
    )
    if need.decode_context_parallel_size > 1 and not all(x.spec.keeps_all for x in layers):
        raise UnknownError("decode context parallel with layers that do not keep everything")
    plan = _Planner(layers, stages, need, question, release)
    answer = Estimate(
        layers=tuple(_kinds(layers, stage) for stage in stages),
        max_model_len=length,
        hma_on=plan.make(hma=True),
        hma_off=plan.make(hma=False),
    )
    return answer, forms_of(question, model, fp8=fp8)


def _check_tower(config: ModelConfig, ranks: int) -> None:
    tower = config.whole.get("vision_config")
    heads = tower.get("num_attention_heads") if isinstance(tower, dict) else None
    if isinstance(heads, int) and heads % ranks:
        raise UnknownError(f"{heads} heads that see on {ranks} ranks")


def _specs(question: Question, config: ModelConfig, model: Model, release: Release) -> list[Layer]:
    dtype = config.dtype(question.dtype)
    kv_dtype = config.kv_cache_dtype(question.kv_cache_dtype, dtype)
    if model.sparse:
        kv_dtype = _sparse_dtype(question, config, kv_dtype, release)
    blocks = _blocks(question, model, kv_dtype, release)
    size = blocks.of(question.block_size)
    states = [layer for layer in model.layers if isinstance(layer, State)]
    page = None
    if model.hybrid:
        largest = max(_state(layer, 1, None, question, dtype).real_page for layer in states)
        multiple = _state_alignment(states, question, release)
        tokens = -(-largest // _token_bytes(model, kv_dtype))
        aligned = _aligned(size, blocks, model, tokens, multiple)
        page = aligned * _token_bytes(model, kv_dtype)
        size = size if release.layers_keep_block_size else aligned
    settings = _Settings(
        block_size=size,
        kv_dtype=kv_dtype,
        mamba_block_size=_mamba_block_size(question, config, release, size),
        mamba_page=page,
        model_dtype=dtype,
        release=release,
    )
    return [Layer(layer.index, _spec(layer, settings, question)) for layer in model.layers]


def _checkpoints(layer: State, question: Question, release: Release) -> bool:
    """Another state stays behind for prefix caching."""
    if not _align(question, release):
        return False
    return release.checkpoint_alignment(layer.form, backend.generation(question.gpu)) > 0


def _sparse_dtype(question: Question, config: ModelConfig, kv_dtype: str, release: Release) -> str:
    major = backend.generation(question.gpu)
    if question.kv_cache_dtype != "auto":
        raise UnknownError("sparse MLA with a KV cache data type of the operator's")
    return FP8 if major in release.fp8_by_itself.get(config.architecture, ()) else kv_dtype


def _blocks(question: Question, model: Model, kv_dtype: str, release: Release) -> backend.Blocks:
    fp8 = kv_dtype == FP8
    if model.sparse:
        return backend.sparse_mla(question.gpu)
    if any(isinstance(layer, Latent) for layer in model.layers):
        return backend.mla(question.gpu, model, release, fp8=fp8)
    return backend.attention(question.gpu, model, release, fp8=fp8)


def _token_bytes(model: Model, kv_dtype: str) -> int:
    """Bytes of a token in a layer of attention."""
    sizes = set()
    for layer in model.layers:
        if isinstance(layer, Attention):
            sizes.add(layer.kv_heads * (layer.head_size + layer.head_size_v))
        elif isinstance(layer, Latent):
            sizes.add(layer.size)
    if len(sizes) != 1:
        raise UnknownError("different heads beside layers with a state")
    return sizes.pop() * DTYPE_BYTES[kv_dtype]


def _state_alignment(states: Sequence[State], question: Question, release: Release) -> int:
    """Of how many tokens a block is a multiple, so that states are kept where blocks end."""
    if not _align(question, release):
        return 1
    generation = backend.generation(question.gpu)
    forms = {state.form for state in states}
    return math.lcm(*(release.checkpoint_alignment(form, generation) or 1 for form in forms))


def _aligned(
    size: int,
    blocks: backend.Blocks,
    model: Model,
    tokens: int,
    multiple: int,
) -> int:
    """The block size at which attention's blocks hold a state, as large as so many tokens."""
    unit = max(size, blocks.kernel)
    if any(isinstance(layer, Latent) for layer in model.layers):
        unit = max(unit, _LATENT_ALIGNMENT)
    unit = math.lcm(unit, multiple)
    whole = unit * -(-tokens // unit)
    whole = blocks.kernel * -(-whole // blocks.kernel)
    return max(size, whole)


def _align(question: Question, release: Release) -> bool:
    """Mamba layers keep a state for each block that prefix caching could find."""
    mode = question.mamba_cache_mode
    if mode not in {None, "none", "align"}:
        raise UnknownError(f"the Mamba cache mode `{mode}` is not estimated")
    if question.prefix_caching is None and not release.mamba_prefix_caching:
        return mode == "align"
    return question.prefix_caching is not False


def _mamba_block_size(question: Question, config: ModelConfig, release: Release, size: int) -> int:
    if question.mamba_block_size is not None:
        raise UnknownError("a Mamba block size of the operator's is not estimated")
    if _align(question, release):
        return size
    return config.max_model_len(question.max_model_len)


def _spec(layer: Attention | Latent | State, settings: _Settings, question: Question) -> Spec:
    if isinstance(layer, State):
        return _state(
            layer,
            settings.mamba_block_size,
            settings.mamba_page,
            question,
            settings.model_dtype,
            checkpoints=_checkpoints(layer, question, settings.release),
        )
    if isinstance(layer, Latent):
        dtype = layer.data_type or settings.kv_dtype
        return Spec(MLA, settings.block_size, 1, layer.size, 0, dtype)
    kind = SLIDING if layer.window is not None else CHUNKED if layer.chunk is not None else FULL
    return Spec(
        kind,
        settings.block_size,
        layer.kv_heads,
        layer.head_size,
        layer.head_size_v,
        settings.kv_dtype,
        window=layer.window,
        chunk=layer.chunk,
    )


def _state(
    layer: State,
    block_size: int,
    page: int | None,
    question: Question,
    model_dtype: str,
    *,
    checkpoints: bool = False,
) -> Spec:
    plain = model_dtype if question.mamba_cache_dtype == "auto" else question.mamba_cache_dtype
    dtypes = []
    for dtype in layer.dtypes:
        named = plain
        if dtype.startswith(SSM_DTYPE):
            asked = question.mamba_ssm_cache_dtype
            named = dtype.removeprefix(SSM_DTYPE) if asked == "auto" else asked
            named = plain if named in {"", "auto"} else named
        elif dtype != MODEL_DTYPE:
            named = dtype
        if named not in DTYPE_BYTES:
            raise UnknownError(f"states of data type `{named}` are not estimated")
        dtypes.append(named)
    spec = Spec(
        MAMBA,
        block_size,
        shapes=layer.shapes,
        dtypes=tuple(dtypes),
        mamba_type=f"MambaAttentionBackendEnum.{layer.kind}",
        checkpoints=int(checkpoints),
    )
    return spec if page is None or page == spec.real_page else replace(spec, padded=page)


def _stages(depth: int, count: int) -> list[tuple[int, int]]:
    """First layer of each pipeline stage, and the one behind its last."""
    if count > depth:
        raise UnknownError(f"{count} pipeline stages of {depth} layers")
    sizes = [depth // count] * count
    for number in range(2, depth % count + 2):
        sizes[-number] += 1
    starts = [sum(sizes[:stage]) for stage in range(count)]
    return [(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _in_flight(
    question: Question,
    config: ModelConfig,
    length: int,
    release: Release,
    layers: Sequence[Layer],
) -> int:
    """Tokens that are scheduled and not settled. Matters to windows and chunks only."""
    if not any(layer.spec.kind in {SLIDING, CHUNKED} for layer in layers):
        return 0
    tokens = question.max_num_batched_tokens
    if tokens is None:
        tokens = _batched_tokens(question.gpu, config, release)
        if question.max_num_seqs is not None:
            tokens = min(tokens, question.max_num_seqs * length)
    ahead = release.batches_in_flight - 1 if question.async_scheduling is not False else 0
    return tokens * (question.pipeline_parallel_size + ahead)


def _batched_tokens(gpu: Gpu | None, config: ModelConfig, release: Release) -> int:
    """vLLM's own --max-num-batched-tokens for a server on this GPU."""
    if gpu is None:
        raise UnknownError("the GPU decides how many tokens are batched, and it is not known")
    small = "a100" in gpu.name.lower()
    for gib, tokens in release.batched_tokens:
        if gpu.memory >= gib * _GIB and not small:
            return tokens
    if "vision_config" in config.whole:
        raise UnknownError("one image may need larger batches than this GPU's own")
    return _FEWEST_BATCHED_TOKENS


def _kinds(layers: Sequence[Layer], stage: tuple[int, int]) -> tuple[dict[str, Any], ...]:
    """Layers of one stage with equal specs, counted."""
    alike: dict[Spec, list[int]] = {}
    for layer in layers:
        if stage[0] <= layer.index < stage[1]:
            alike.setdefault(layer.spec, []).append(layer.index)
    return tuple(
        spec.described() | {"count": len(places), "first_layer": f"layers.{places[0]}"}
        for spec, places in alike.items()
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    layers: Sequence[Layer]
    stages: Sequence[tuple[int, int]]
    need: Need
    question: Question
    release: Release

    def make(self, *, hma: bool) -> dict[str, Any]:
        """The plan in the dry boot's form."""
        try:
            made = groups.group(self.layers, hma=hma, padding=self.release.group_padding)
        except CannotUnifyError:
            message = self.release.cannot_unify
            return {"error": {"type": "ValueError", "message": message}, "groups": []}
        if not made:
            raise UnknownError("a model without a KV cache")
        plan: dict[str, Any] = {
            "error": None,
            "groups": [self._shown(group) for group in made],
            "max_model_len": self.need.max_model_len,
            "block_size": min(group.spec.block_size for group in made),
        }
        block_bytes = [self._block_bytes(made, stage) for stage in self.stages]
        per_request = sum(group.blocks(self.need) for group in made)
        plan["bytes_per_request"] = per_request * max(block_bytes)
        memory = self.question.memory
        if memory is None:
            return plan
        return plan | self._with_memory(made, block_bytes, per_request, memory)

    def _shown(self, group: Group) -> dict[str, Any]:
        first = group.of_stage(*self.stages[0])
        return {"layers": len(first.layers)} | group.spec.described()

    def _block_bytes(self, made: Sequence[Group], stage: tuple[int, int]) -> int:
        return max(group.of_stage(*stage).page for group in made)

    def _with_memory(
        self, made: Sequence[Group], block_bytes: Sequence[int], per_request: int, memory: int
    ) -> dict[str, Any]:
        override = self.question.num_gpu_blocks_override
        for size in block_bytes:
            available = memory if override is None else override * size
            usable = available - (size if self.release.reserves_a_block else 0)
            if per_request * size > usable:
                message = self._too_long(made, size, usable)
                return {"error": {"type": "ValueError", "message": message}}
        blocks = min(memory // size for size in block_bytes) if override is None else override
        concurrency = blocks / per_request
        tokens = int(concurrency * self.need.max_model_len)
        if self.release.tokens_of_a_group:
            tokens = blocks // len(made) * min(group.spec.block_size for group in made)
            tokens *= self.need.decode_context_parallel_size
        return {"num_blocks": blocks, "max_concurrency": concurrency, "tokens": tokens}

    def _too_long(self, made: Sequence[Group], size: int, usable: int) -> str:
        """vLLM's words."""
        needed = size * sum(group.blocks(self.need) for group in made)
        longest = self._longest(made, usable // size)
        hint = (
            f"Based on the available memory, the estimated maximum model length is {longest}. "
            if longest
            else ""
        )
        return (
            "To serve at least one request with the model's max seq len "
            f"({self.need.max_model_len}), ({needed / _GIB:.2f} GiB KV cache is needed, which is "
            f"larger than the available KV cache memory ({usable / _GIB:.2f} GiB). {hint}"
            "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
            "initializing the engine."
        )

    def _longest(self, made: Sequence[Group], blocks: int) -> int:
        """Tokens of the longest request that so many blocks hold."""

        def too_long(length: int) -> bool:
            need = replace(self.need, max_model_len=length)
            return sum(group.blocks(need) for group in made) > blocks

        lengths = range(self.need.max_model_len + 1)
        return max(0, bisect.bisect_left(lengths, True, lo=1, key=too_long) - 1)
