"""The rules about host memory, disk and limits, held against this machine instead of a target."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hmactl.deployment.size import format_gib
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache_memory import host_memory, server_memory
from hmactl.finding import Severity
from hmactl.launch.preconditions.files import disk_directories, existing
from hmactl.launch.preconditions.host import Host, space
from hmactl.launch.preconditions.problem import Problem
from hmactl.rules.case import Case, Rule
from hmactl.rules.lmc import lmc010_host_memory
from hmactl.rules.lms import lms007_host_memory
from hmactl.rules.mem import mem006_disk, mem007_shared_memory, mem008_memlock

_OF_VLLM: tuple[Rule, ...] = (lmc010_host_memory, mem006_disk, mem008_memlock)
_OF_THE_SERVER: tuple[Rule, ...] = (lms007_host_memory, mem007_shared_memory)
# Docker's default, which NCCL and vLLM's own queues between workers outgrow.
_DOCKERS_SHM = 64 << 20


def limit_problems(case: Case, host: Host, directory: Path) -> Iterator[Problem]:
    """What of the deployment is more than this machine has, ever or at this moment."""
    facts = case.facts
    server = facts.deployment.lmcache_server
    starts_server = server is not None and server.start
    rules = [*_OF_VLLM, *(_OF_THE_SERVER if starts_server else ())]
    target = replace(
        facts.deployment.target,
        host_memory=host.memory,
        memory_limit=host.memory_limit,
        shm=host.shm,
        memlock=host.memlock,
        disk=_disk(facts, directory),
    )
    here = replace(facts, deployment=replace(facts.deployment, target=target))
    never = [f for rule in rules for f in rule.check(Case(here, case.verdict))]
    for finding in never:
        # What a disk has free now it may still have more of later.
        fatal = finding.severity is Severity.ERROR and finding.id != mem006_disk.ID
        yield Problem(finding.message, finding.consequence, finding.fix, fatal)
    if not any(finding.severity is Severity.ERROR for finding in never):
        yield from _now(facts, host, server=starts_server)
    yield from _shared_memory(facts, host)


def _now(facts: Facts, host: Host, *, server: bool) -> Iterator[Problem]:
    """What is more than is free at this moment, although the machine has it."""
    memory = host_memory(facts)
    sizes = [0 if memory is None else memory.total]
    sizes += [server_memory(facts) or 0] if server else []
    wanted = sum(sizes)
    if host.available is None or wanted <= host.available:
        return
    yield Problem(
        f"LMCache takes {format_gib(wanted)} of host memory, and {format_gib(host.available)} are "
        "free now",
        "it takes less, goes on without a cache, or the kernel ends the server as it fills",
        "end what else uses the memory, or a smaller `max_local_cpu_size` or `l1-size-gb`",
        fatal=False,
    )


def _shared_memory(facts: Facts, host: Host) -> Iterator[Problem]:
    config = facts.answer.config
    if config is None or host.shm_size is None or host.shm_size > _DOCKERS_SHM:
        return
    ranks = config.tensor_parallel_size * config.pipeline_parallel_size
    if ranks > 1:
        yield Problem(
            f"{ranks} workers are to share memory, and /dev/shm has {host.shm_size >> 20} MiB",
            "NCCL or vLLM itself ends with a bus error or `No space left on device`",
            "a larger /dev/shm: `--shm-size` or `--ipc=host` in Docker, an `emptyDir` with "
            "`medium: Memory` in Kubernetes",
            fatal=False,
        )


def _disk(facts: Facts, directory: Path) -> int | None:
    """What is free for LMCache's disk directories, of which each worker has one."""
    free = [space(existing(directory / path))[0] for path in disk_directories(facts)]
    known = [size for size in free if size is not None]
    return min(known) if known else None
