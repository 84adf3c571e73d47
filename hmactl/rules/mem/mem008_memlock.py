"""LMCache is to register more memory than a process may lock.

What: P2P, prefill and decode over NIXL with buffers in host memory, NIXL storage and io_uring
register LMCache's host memory with a device or the kernel. Memory that is registered for RDMA or
io_uring counts against RLIMIT_MEMLOCK, which `target.memlock` says is smaller. What CUDA pins does
not count.

Why: the registration fails. LMCache goes on without a cache, or over a slower way.

Failing example: `enable_p2p: true` with `max_local_cpu_size: 40` and `memlock: 8 MiB`.

Passing example: the same with `memlock: unlimited`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Json
from hmactl.deployment.size import format_gib
from hmactl.engine.answer import LMCacheSettings
from hmactl.facts.lmcache_memory import host_memory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "MEM008"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where LMCache's memory is registered and the limit is smaller."""
    settings, limit = in_process_settings(case), case.facts.deployment.target.memlock
    memory = host_memory(case.facts)
    if settings is None or limit is None or memory is None or not memory.sizes:
        return
    size = max(memory.sizes)
    if size <= limit or (registered := _registered(settings)) is None:
        return
    key, by = registered
    yield Finding(
        ID,
        SEVERITY,
        f"`{key}` registers {format_gib(size)} of each worker's memory {by}, and a process may "
        f"lock {format_gib(limit)}",
        "where that is RDMA or io_uring the registration fails",
        "`ulimit -l unlimited`, in Docker `--ulimit memlock=-1`, or the capability IPC_LOCK",
        origin_of(case, key),
    )


def _registered(settings: LMCacheSettings) -> tuple[str, str] | None:
    """The setting that registers LMCache's host memory, and with what."""
    values = settings.values
    extra: Json = values.get("extra_config")
    extra = extra if isinstance(extra, dict) else {}
    if values.get("enable_p2p"):
        return "enable_p2p", "for transfers between hosts"
    if extra.get("enable_nixl_storage") and values.get("nixl_buffer_device") == "cpu":
        return "extra_config", "with NIXL"
    if extra.get("rust_raw_block.io_engine") == "io_uring" or any(
        extra.get(f"rust_raw_block.use_{name}") for name in ("iouring", "uring")
    ):
        return "extra_config", "with io_uring"
    return None
