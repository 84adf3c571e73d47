"""What LMCache stores of a token, and the memory that it takes for that."""

from dataclasses import dataclass

from hmactl.deployment.setting import Area, Json, Setting
from hmactl.engine.answer import Answer, LayerKind, LMCacheSettings
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import SERVED, in_process, is_served, number, option_number

SERVER_CHUNK_TOKENS = 256
"""`chunk-size` of ``lmcache server`` by default, in every version from 0.3.5 to 0.5.6."""

_GIB = 2**30
# LMCache's allocators round every chunk up to whole pages.
_PAGE = 4096
# Specs whose pages hold keys and values of every token.
_ATTENTION = frozenset(
    {
        "FullAttentionSpec",
        "SlidingWindowSpec",
        "ChunkedLocalAttentionSpec",
        "MLAAttentionSpec",
    }
)
# A deployment with one of these may use more hosts than this one.
_OTHER_HOSTS = ("nnodes", "data-parallel-address", "data-parallel-rank", "data-parallel-start-rank")
# Settings of an L1 that is not the server's own host memory.
_OTHER_L1 = ("gds-l1-path", "l1-devdax-path", "l1-manager")


@dataclass(frozen=True, slots=True)
class HostMemory:
    """What LMCache takes of one host's memory: bytes of each worker that has a store.

    ``takes_what_is_free``: where the host has less, LMCache takes that instead.
    """

    sizes: tuple[int, ...]
    takes_what_is_free: bool = False

    @property
    def total(self) -> int:
        """Bytes of all workers."""
        return sum(self.sizes)


def chunk_tokens(facts: Facts) -> int | None:
    """Tokens of a chunk of LMCache in the process."""
    settings = in_process(facts)
    size = None if settings is None else number(settings.values.get("chunk_size"))
    return int(size) if size is not None and size >= 1 else None


def chunk_bytes(facts: Facts, tokens: int) -> int | None:
    """Bytes of a chunk of that many tokens on the worker that has most of it.

    By the installed LMCache's metadata; else from the engine's layers, if all are attention.
    """
    chunk = facts.answer.lmcache_chunk
    if chunk is not None:
        return max(chunk.bytes_per_stage) * tokens // chunk.tokens
    per_token = layers_bytes_per_token(facts.answer)
    return None if per_token is None else int(per_token * tokens)


def layers_bytes_per_token(answer: Answer) -> float | None:
    """Keys and values of a token in all layers of the stage that has most.

    None where not all layers are attention.
    """
    kinds = [kind for stage in answer.layers for kind in stage]
    if not kinds or any(kind.spec not in _ATTENTION for kind in kinds):
        return None
    return max(
        sum(kind.count * _content(kind) / kind.block_size for kind in stage)
        for stage in answer.layers
    )


def server_chunk_bytes(answer: Answer, tokens: int, *, windows: bool) -> int | None:
    """Bytes of a chunk in an LMCache server, of all workers together.

    ``windows``: layers keep no more of a chunk than their window, as with HMA on. A recurrent layer
    keeps one state. None where the layers are not known.
    """
    config = answer.config
    if config is None or not answer.layers:
        return None
    kinds = [kind for stage in answer.layers for kind in stage]
    # With MLA in all layers the workers of a stage have the same, and it is stored once.
    once = all("MLA" in kind.spec for kind in kinds)
    workers = 1 if once else config.tensor_parallel_size
    return workers * sum(kind.count * _stored(kind, tokens, windows=windows) for kind in kinds)


def is_recurrent(kind: LayerKind) -> bool:
    """A layer that keeps a state instead of keys and values."""
    return kind.spec == "MambaSpec"


def _stored(kind: LayerKind, tokens: int, *, windows: bool) -> int:
    if is_recurrent(kind):
        return kind.page_size_bytes
    window = kind.further.get("sliding_window") if windows else None
    kept = min(tokens, window) if isinstance(window, int) else tokens
    return _content(kind) * kept // kind.block_size


def _content(kind: LayerKind) -> int:
    """Bytes of a page without what pads it to the size of other pages."""
    extra = kind.further
    heads, size, padded = (extra.get(n) for n in ("num_kv_heads", "head_size", "page_size_padded"))
    if not padded or not heads or not size or "MLA" in kind.spec:
        return kind.page_size_bytes
    kept = str(extra.get("dtype"))
    item = 1 if "8" in kept else 4 if "32" in kept else 2
    return min(kind.page_size_bytes, 2 * int(heads) * int(size) * item * kind.block_size)


def whole_chunks(size: int, chunk: int) -> int:
    """How many chunks of that many bytes fit."""
    return size // (-(-chunk // _PAGE) * _PAGE)


def host_memory(facts: Facts) -> HostMemory | None:
    """What LMCache in the vLLM workers of one host takes; None where that is not known."""
    settings, config = in_process(facts), facts.answer.config
    if settings is None or config is None or settings.values.get("enable_pd"):
        return None
    size = number(settings.values.get("max_local_cpu_size"))
    if size is None or size < 0:
        return None
    here, replicas = ranks_on_one_host(facts), replicas_on_one_host(facts)
    everyone = HostMemory((int(size * _GIB),) * here * replicas)
    chunk = facts.answer.lmcache_chunk
    if chunk is None:
        kinds = [kind for stage in facts.answer.layers for kind in stage]
        return None if not kinds or any("MLA" in kind.spec for kind in kinds) else everyone
    if chunk.storing_ranks is None:
        return None
    storing = [rank for rank in chunk.storing_ranks if rank < here]
    if len(storing) == here:
        return HostMemory(everyone.sizes, chunk.takes_what_is_free)
    first = number(_extra(settings).get("first_rank_max_local_cpu_size"))
    sizes = [size if first is None or rank != 0 else first for rank in storing]
    sizes_in_bytes = tuple(int(one * _GIB) for one in sizes)
    return HostMemory(sizes_in_bytes * replicas, chunk.takes_what_is_free)


def _extra(settings: LMCacheSettings) -> dict[str, Json]:
    extra = settings.values.get("extra_config")
    return extra if isinstance(extra, dict) else {}


def disk_needed(facts: Facts) -> tuple[int, int] | None:
    """Bytes of each worker, and how many workers of a host write; None without a disk."""
    settings = in_process(facts)
    if settings is None or not settings.values.get("local_disk"):
        return None
    size = number(settings.values.get("max_local_disk_size"))
    if size is None or size <= 0:
        return None
    memory = host_memory(facts)
    return None if memory is None else (int(size * _GIB), len(memory.sizes))


def ranks_on_one_host(facts: Facts) -> int:
    """How many workers of one engine certainly share a host.

    Where the deployment may span hosts it is only as many as the target has GPUs, or one.
    """
    config, deployment = facts.answer.config, facts.deployment
    if config is None:
        return 1
    ranks = config.tensor_parallel_size * config.pipeline_parallel_size
    gpus = deployment.target.gpus
    if _may_span_hosts(facts):
        return min(ranks, gpus or 1)
    return ranks if gpus is None else min(ranks, gpus)


def replicas_on_one_host(facts: Facts) -> int:
    """How many engines of a data parallel deployment certainly share a host."""
    config, deployment = facts.answer.config, facts.deployment
    if config is None:
        return 1
    local = deployment.vllm_setting("data-parallel-size-local")
    if local is not None:
        return local.value if isinstance(local.value, int) and local.value > 0 else 1
    if _may_span_hosts(facts):
        return 1
    gpus, ranks = deployment.target.gpus, ranks_on_one_host(facts)
    return min(config.data_parallel_size, max(1, (gpus or 10**6) // ranks))


def _may_span_hosts(facts: Facts) -> bool:
    deployment = facts.deployment
    backends = [
        deployment.vllm_setting(name)
        for name in ("distributed-executor-backend", "data-parallel-backend")
    ]
    if any(backend is not None and backend.value == "ray" for backend in backends):
        return True
    return any(deployment.vllm_setting(name) is not None for name in _OTHER_HOSTS)


def server_option(facts: Facts, name: str) -> Setting | None:
    """The last setting of that option of the LMCache server."""
    server = facts.deployment.lmcache_server
    return None if server is None else server.option(name)


def server_number(facts: Facts, name: str) -> float | None:
    """That option as a number, from text too; None where it is none."""
    setting = server_option(facts, name)
    return None if setting is None else option_number(setting.value)


def server_chunk_tokens(facts: Facts) -> int | None:
    """Tokens of a chunk of the LMCache server; None where no such server is described."""
    if facts.deployment.lmcache_server is None or not is_served(facts):
        return None
    if server_option(facts, "chunk-size") is None:
        return SERVER_CHUNK_TOKENS
    size = server_number(facts, "chunk-size")
    return None if size is None or size < 1 else int(size)


def server_memory(facts: Facts) -> int | None:
    """Bytes of host memory that the LMCache server's L1 takes; None where that is not known."""
    size = server_number(facts, "l1-size-gb")
    if size is None or size <= 0 or not is_served(facts):
        return None
    if any(server_option(facts, name) is not None for name in _OTHER_L1):
        return None
    return int(size * _GIB)


def server_is_here(facts: Facts) -> bool:
    """Whether the server certainly shares the host of vLLM."""
    if facts.deployment.is_unknown(Area.CONNECTOR, "lmcache.mp.host"):
        return False
    connector = facts.connector
    connectors = () if connector is None else tuple(connector.walk())
    hosts = [
        str(one.extra_config.get("lmcache.mp.host", "tcp://localhost"))
        for one in connectors
        if one.name == SERVED
    ]
    return all(host.rpartition("/")[2] in ("localhost", "127.0.0.1") for host in hosts)
