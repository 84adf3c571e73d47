"""What LMCache holds: chunks of the keys and values of all layers."""

from collections.abc import Iterator

from hmactl.account.line import Line, Section, Unit
from hmactl.facts import lmcache_memory
from hmactl.facts.facts import Facts


def worker_section(facts: Facts) -> Section | None:
    """LMCache in the vLLM process, for a worker that stores; None where there is none."""
    tokens, memory = lmcache_memory.chunk_tokens(facts), lmcache_memory.host_memory(facts)
    if tokens is None or memory is None or not memory.sizes:
        return None
    size = lmcache_memory.chunk_bytes(facts, tokens)
    if size is None:
        return None
    asked = facts.answer.lmcache_chunk is not None
    source = "LMCache's own metadata" if asked else "vLLM's layers, as LMCache itself was not asked"
    how = f"{tokens} tokens of all layers of a worker, windows in full ({source})"
    lines = [
        Line("chunk", size, Unit.BYTES, how, estimate=not asked),
        Line("token", size / tokens, Unit.RATE, f"chunk / {tokens}", estimate=not asked),
        Line("store", memory.sizes[0], Unit.BYTES, "`max_local_cpu_size` x 1024^3, per worker"),
        *_capacity(facts, memory.sizes[0], size, tokens, estimate=memory.takes_what_is_free),
    ]
    return Section("LMCache in a vLLM worker", tuple(lines), tuple(_about_mla(facts)))


def _about_mla(facts: Facts) -> Iterator[str]:
    chunk = facts.answer.lmcache_chunk
    if chunk is None or not chunk.mla or chunk.storing_ranks is None:
        return
    ranks = ", ".join(map(str, chunk.storing_ranks))
    yield f"MLA: all workers have the same keys and values; allocated on rank {ranks}"
    if chunk.takes_what_is_free:
        yield (
            "LMCache takes less where the host has less free when it starts, "
            "less `reserve_local_cpu_size`"
        )


def server_section(facts: Facts, *, hma_on: bool) -> Section | None:
    """The LMCache server's L1; None where there is none or where its chunks are not known."""
    size, tokens = lmcache_memory.server_memory(facts), lmcache_memory.server_chunk_tokens(facts)
    if size is None or tokens is None:
        return None
    chunk = lmcache_memory.server_chunk_bytes(facts.answer, tokens, windows=hma_on)
    if chunk is None:
        return None
    kinds = [kind for stage in facts.answer.layers for kind in stage]
    states = any(map(lmcache_memory.is_recurrent, kinds))
    windows = ", of a window shorter than that only the window" if hma_on else ""
    state = ", and a state of each recurrent layer" if states else ""
    how = f"{tokens} tokens of all layers of all workers{windows}{state}"
    lines = [
        Line("chunk", chunk, Unit.BYTES, how, estimate=states),
        Line("token", chunk / tokens, Unit.RATE, f"chunk / {tokens}", estimate=states),
        Line("store", size, Unit.BYTES, "`l1-size-gb` x 1024^3"),
        *_capacity(facts, size, chunk, tokens, estimate=states),
    ]
    return Section("LMCache server", tuple(lines))


def _capacity(
    facts: Facts, size: int, chunk: int, tokens: int, *, estimate: bool
) -> Iterator[Line]:
    chunks = lmcache_memory.whole_chunks(size, chunk)
    how = "store / chunk, each in whole pages of 4,096 B"
    yield Line("chunks", chunks, Unit.CHUNKS, how, estimate=estimate)
    held = chunks * tokens
    yield Line("tokens", held, Unit.TOKENS, f"chunks x {tokens}", estimate=estimate)
    config = facts.answer.config
    if config is not None:
        how = f"tokens / {config.max_model_len:,} (max-model-len)"
        requests = round(held / config.max_model_len, 2)
        yield Line("requests", requests, Unit.REQUESTS, how, estimate=estimate)
