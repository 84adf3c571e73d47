"""Host memory, disk, and what is still there after a restart."""

from collections.abc import Iterator

from hmactl.account.line import Line, Section, Unit
from hmactl.deployment.deployment import UNLIMITED, Target
from hmactl.facts import lmcache, lmcache_memory
from hmactl.facts.facts import Facts

_GIB = 2**30
# Seconds for a GiB of pinned memory: 33.38 GiB in 7.96 s (ikawrakow/ik_llama.cpp#1517, two
# RTX 3090), 16 GiB in 8 s (rapidsai/rmm#2496, a g6.4xlarge with an L4).
_PIN_SECONDS = (7.96 / 33.38, 8 / 16)
_PIN_SOURCE = (
    "as measured elsewhere: 0.24 s (ikawrakow/ik_llama.cpp#1517) to 0.5 s (rapidsai/rmm#2496) a GiB"
)


def host_section(facts: Facts) -> Section | None:
    """What LMCache takes of one host's memory, and what there is; None where it takes none."""
    taken = [*_workers(facts), *_server(facts)]
    if not taken:
        return None
    target = facts.deployment.target
    lines = [*taken, *_limits(target)]
    if target.memory_bound is not None:
        who, bound = target.memory_bound
        server = facts.deployment.lmcache_server
        if server is not None and server.apart and bound == target.memory_limit:
            taken = [*_workers(facts)]
        left = bound - int(sum(line.value for line in taken))
        how = f"memory of {who} - what LMCache takes, for vLLM and all else"
        lines.append(Line("left", left, Unit.BYTES, how))
    return Section("host memory", (*lines, *_pinning(facts)))


def _workers(facts: Facts) -> Iterator[Line]:
    memory = lmcache_memory.host_memory(facts)
    if memory is None or not memory.sizes:
        return
    workers = len(memory.sizes)
    same = len(set(memory.sizes)) == 1
    sizes = f"{workers} x " if workers > 1 and same else ""
    each = f"{memory.sizes[0]:,} B" if same else " + ".join(f"{size:,} B" for size in memory.sizes)
    how = f"{sizes}{each}, one store for each worker of this host that stores"
    estimate = memory.takes_what_is_free
    yield Line("LMCache in vLLM", memory.total, Unit.BYTES, how, estimate=estimate)


def _server(facts: Facts) -> Iterator[Line]:
    size = lmcache_memory.server_memory(facts)
    if size is not None and lmcache_memory.server_is_here(facts):
        yield Line("LMCache server", size, Unit.BYTES, "its L1, once for all workers")


def _limits(target: Target) -> Iterator[Line]:
    limits = (
        ("host", target.host_memory, "`target.host_memory`"),
        ("container", target.memory_limit, "`target.memory_limit`"),
        ("shm", target.shm, "`target.shm`"),
        ("memlock", target.memlock, "`target.memlock`"),
    )
    for name, size, how in limits:
        if size is not None and size != UNLIMITED:
            yield Line(name, size, Unit.BYTES, how)


def _pinning(facts: Facts) -> Iterator[Line]:
    memory = lmcache_memory.host_memory(facts)
    if facts.gpu is None or memory is None or not memory.sizes:
        return
    fast, slow = (seconds * max(memory.sizes) / _GIB for seconds in _PIN_SECONDS)
    yield Line(
        "time to pin", round(slow, 1), Unit.SECONDS, _PIN_SOURCE, low=round(fast, 1), estimate=True
    )


def disk_section(facts: Facts) -> Section | None:
    """What LMCache in the workers of one host may write; None where it has no disk."""
    needed = lmcache_memory.disk_needed(facts)
    if needed is None:
        return None
    each, workers = needed
    lines = [Line("each worker", each, Unit.BYTES, "`max_local_disk_size` x 1024^3")]
    lines.append(Line("all workers", each * workers, Unit.BYTES, f"{workers} x each worker"))
    disk = facts.deployment.target.disk
    if disk is not None:
        lines.append(Line("disk", disk, Unit.BYTES, "`target.disk`"))
    note = "files of an earlier run stay in the directory and are not counted by LMCache"
    return Section("LMCache's disk", tuple(lines), (note,))


def restart_section(facts: Facts) -> Section | None:
    """What of the KV cache is still there after a restart; None without LMCache."""
    notes = []
    settings = lmcache.in_process(facts)
    if settings is not None:
        notes.append("LMCache's host memory is gone when vLLM ends")
        if lmcache_memory.disk_needed(facts) is not None:
            notes.append(
                "what LMCache wrote to `local_disk` is not found again: its index is in memory"
            )
        if settings.values.get("remote_url"):
            notes.append("what is in `remote_url` stays, and is found with the same hashes")
    if lmcache.is_served(facts):
        notes.append("the LMCache server's L1 outlives vLLM, and is gone when the server ends")
    return Section("after a restart", (), tuple(notes)) if notes else None
