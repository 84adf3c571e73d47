"""GPU memory: from the whole GPU to the KV cache, and what that holds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from hmactl.account.line import Line, Section, Unit
from hmactl.deployment.deployment import Deployment
from hmactl.engine.answer import EngineConfig, Group, Plan
from hmactl.facts.facts import Facts
from hmactl.facts.memory import KvMemory, MemoryOrigin, block_bytes

_WINDOWS = ("sliding_window", "attention_chunk_size")


def gpu_section(facts: Facts) -> Section | None:
    """What is left for KV cache on the rank that has most weights; None where nothing is known."""
    config, memory, weights = facts.answer.config, facts.memory, facts.answer.weights
    if config is None or memory is None or not weights:
        return None
    lines = [_weights(weights)]
    if memory.origin is MemoryOrigin.ESTIMATED and memory.total is not None:
        lines = [*_share(facts, config, memory), *lines, *_besides(config, memory)]
    else:
        how = "as given: vLLM takes it without measuring what else it needs"
        lines.append(Line("KV cache", memory.smallest, Unit.BYTES, how))
    return Section("GPU memory of one rank", tuple(lines))


def _weights(weights: tuple[int, ...]) -> Line:
    stages = f", the largest of {len(weights)} pipeline stages" if len(weights) > 1 else ""
    how = f"the model as this vLLM shards it{stages}, before kernels repack it"
    return Line("weights", max(weights), Unit.BYTES, how)


def _share(facts: Facts, config: EngineConfig, memory: KvMemory) -> Iterator[Line]:
    total = memory.total or 0
    of = "this machine's memory" if facts.gpu is None else f"CUDA's total of {facts.gpu.name}"
    yield Line("total", total, Unit.BYTES, of)
    share = config.gpu_memory_utilization
    whose = "" if _is_set(facts.deployment, "gpu-memory-utilization") else ", this vLLM's default"
    how = f"{share:g} x total (`gpu-memory-utilization`{whose})"
    yield Line("share", int(share * total), Unit.BYTES, how)


def _besides(config: EngineConfig, memory: KvMemory) -> Iterator[Line]:
    yield Line(
        "CUDA's own",
        memory.non_torch,
        Unit.BYTES,
        "contexts and libraries, as servers logged it",
        estimate=True,
    )
    yield Line(
        "activations",
        memory.activations - memory.graphs,
        Unit.BYTES,
        f"one batch of {config.max_num_batched_tokens:,} tokens and the sampler of "
        f"{min(config.max_num_seqs, config.max_num_batched_tokens):,} sequences x "
        f"{config.vocab_size:,} logits",
        low=0,
        estimate=True,
    )
    if memory.graphs:
        how = "what this vLLM reserves for CUDA graphs, as servers logged it"
        yield Line("CUDA graphs", memory.graphs, Unit.BYTES, how, low=0, estimate=True)
    yield Line(
        "KV cache",
        memory.smallest,
        Unit.BYTES,
        "share - weights - CUDA's own, and at the low end - activations"
        + (" - CUDA graphs" if memory.graphs else ""),
        low=memory.smallest_low,
        estimate=True,
    )


def _is_set(deployment: Deployment, name: str) -> bool:
    return deployment.vllm_setting(name) is not None


def kv_sections(facts: Facts) -> Iterator[Section]:
    """What the KV cache holds, with HMA on and off."""
    plans = facts.answer.plan
    if plans is None or facts.memory is None:
        return
    yield _plan("on", plans.hma_on, facts)
    yield _plan("off", plans.hma_off, facts)


def _plan(hma: str, plan: Plan, facts: Facts) -> Section:
    config, memory = facts.answer.config, facts.memory
    estimate = memory is not None and memory.origin is MemoryOrigin.ESTIMATED
    overridden = config is not None and config.num_gpu_blocks_override is not None
    exact_blocks = overridden or not estimate
    lines = list(_groups(plan.groups))
    if plan.bytes_per_request is not None and config is not None:
        # `--max-model-len auto` settles on less than the configuration says.
        length = plan.max_model_len or config.max_model_len
        how = f"one request of {length:,} tokens, in whole blocks of every group"
        lines.append(Line("one request", plan.bytes_per_request, Unit.BYTES, how))
    if plan.num_blocks is not None:
        how = "as `num-gpu-blocks-override` says" if overridden else "KV cache / bytes of a block"
        lines.append(Line("blocks", plan.num_blocks, Unit.BLOCKS, how, estimate=not exact_blocks))
    if plan.num_blocks is not None and overridden and plan.groups:
        block = max(map(block_bytes, plan.groups))
        how = f"{plan.num_blocks:,} blocks x {block:,} B, whatever memory there is"
        lines.append(Line("KV cache", plan.num_blocks * block, Unit.BYTES, how))
    if plan.capacity is not None:
        how = (
            "what vLLM would log" if plan.capacity == plan.tokens else "concurrency x max-model-len"
        )
        lines.append(Line("tokens", plan.capacity, Unit.TOKENS, how, estimate=not exact_blocks))
    if plan.max_concurrency is not None:
        how = "blocks / blocks of one request"
        concurrency = round(plan.max_concurrency, 2)
        lines.append(Line("requests", concurrency, Unit.REQUESTS, how, estimate=not exact_blocks))
    return Section(f"GPU KV cache with HMA {hma}, one rank", tuple(lines))


def _groups(groups: Sequence[Group]) -> Iterator[Line]:
    for line, same in groupby(map(_group, groups)):
        count = len(list(same))
        yield line if count == 1 else replace(line, name=f"each of {count} groups")


def _group(group: Group) -> Line:
    kind = group.spec.removesuffix("Spec")
    what = f"{group.layers} {kind} layers"
    if group.spec == "MambaSpec":
        how = f"{what} x {group.page_size_bytes:,} B, a state whatever the number of tokens"
        return Line("group", block_bytes(group), Unit.BYTES, how)
    extra = group.further
    # With HMA off a layer may know its window all the same, and keeps everything.
    windows = group.spec.startswith(("Sliding", "Chunked"))
    window = next((extra[name] for name in _WINDOWS if windows and extra.get(name)), None)
    until = f", only of the last {window:,} tokens" if isinstance(window, int) else ""
    pages = f"{block_bytes(group) // group.layers:,} B / {group.block_size} tokens"
    per_token = block_bytes(group) / group.block_size
    return Line("group", per_token, Unit.RATE, f"{what} x {pages}{until}")
