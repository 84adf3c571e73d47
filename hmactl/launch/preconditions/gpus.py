"""The GPUs of this machine: enough, free enough, and of the kind that was planned for."""

from collections.abc import Iterator, Sequence

from hmactl.deployment.size import format_gib
from hmactl.engine.gpus import LocalGpu
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache_memory import ranks_on_one_host, replicas_on_one_host
from hmactl.launch.preconditions.problem import Problem


def gpu_problems(facts: Facts, gpus: Sequence[LocalGpu] | None) -> Iterator[Problem]:
    """``gpus`` are those that a process of ours may use; None: they cannot be known.

    Nothing for a deployment that is planned for the plain CPU platform.
    """
    config = facts.answer.config
    if facts.gpu is None or config is None:
        return
    if gpus is None:
        yield Problem(
            f"it was planned for {facts.gpu.name}, and this machine has no NVIDIA driver that "
            "could be asked for its GPUs",
            "whether it starts, and with how much KV cache, is not known",
            "`--gpu cpu` plans for vLLM's CPU platform; on a GPU machine look at `nvidia-smi`",
            fatal=False,
        )
        return
    wanted = ranks_on_one_host(facts) * replicas_on_one_host(facts)
    if len(gpus) < wanted:
        yield Problem(
            f"{wanted} GPUs are needed on this machine, and {len(gpus)} can be used",
            "vLLM ends when it starts its workers",
            "more GPUs for this process (`CUDA_VISIBLE_DEVICES`, the container's request), or less "
            "`tensor-parallel-size`",
            fatal=True,
        )
        return
    used = gpus[:wanted]
    other = sorted({gpu.name for gpu in used if gpu.name != facts.gpu.name})
    if other:
        yield Problem(
            f"it was planned for {facts.gpu.name}, and this machine has {', '.join(other)}",
            "the plan and its memory are not those of this machine",
            "leave `target.gpu` and `--gpu` out to plan for this machine",
            fatal=False,
        )
    yield from _free(facts, used)


def _free(facts: Facts, used: Sequence[LocalGpu]) -> Iterator[Problem]:
    config = facts.answer.config
    if config is None:
        return
    for number, gpu in enumerate(used):
        wanted = int(config.gpu_memory_utilization * gpu.usable_memory)
        if gpu.free is not None and gpu.free < wanted:
            yield Problem(
                f"GPU {number} has {format_gib(gpu.free)} free, and vLLM takes "
                f"{format_gib(wanted)} (`gpu-memory-utilization` "
                f"{config.gpu_memory_utilization:g})",
                "vLLM ends before it loads the model: `Free memory on device ... is less than "
                "desired GPU memory utilization`",
                "end what else uses the GPU (`nvidia-smi`), or lower `gpu-memory-utilization`",
                fatal=True,
            )
