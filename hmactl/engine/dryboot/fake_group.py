"""Process groups of the deployment's real size in which nobody else takes part.

torch's ``fake`` backend makes every collective a no-op, so one process can build one rank's share
of the model as the engine itself shards it.
"""

import inspect
from typing import Any


def join(config: Any, rank: int) -> None:
    """Become ``rank`` (0-based, within tensor x pipeline parallel) of the deployment's world."""
    import torch.distributed as dist
    import vllm.distributed.parallel_state as ps
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from vllm.config import set_current_vllm_config

    if dist.is_initialized():
        ps.destroy_model_parallel()
        ps.destroy_distributed_environment()
    else:
        _without_communicators(ps, dist)
    parallel = config.parallel_config
    world_size = parallel.tensor_parallel_size * parallel.pipeline_parallel_size
    dist.init_process_group(
        backend="fake",
        store=FakeStore(),
        rank=rank,
        world_size=world_size * parallel.data_parallel_size,
    )
    with set_current_vllm_config(config):
        ps.init_distributed_environment(
            world_size=world_size,
            rank=rank,
            local_rank=0,
            distributed_init_method="fake://",
            backend="fake",
        )
        # Not every version has both kinds of context parallelism.
        known = inspect.signature(ps.initialize_model_parallel).parameters
        context = {
            f"{kind}_context_model_parallel_size": getattr(
                parallel, f"{kind}_context_parallel_size", 1
            )
            for kind in ("prefill", "decode")
        }
        ps.initialize_model_parallel(
            parallel.tensor_parallel_size,
            parallel.pipeline_parallel_size,
            **{name: size for name, size in context.items() if name in known},
        )


def _without_communicators(ps: Any, dist: Any) -> None:
    real_new_group = dist.new_group

    def new_group(ranks: Any = None, *_args: Any, **_kwargs: Any) -> Any:
        return real_new_group(ranks, backend="fake")

    def group(group_ranks: Any, local_rank: int, backend: str, *_args: Any, **kwargs: Any) -> Any:
        return ps.GroupCoordinator(
            group_ranks=group_ranks,
            local_rank=local_rank,
            torch_distributed_backend=backend,
            use_device_communicator=False,
            use_message_queue_broadcaster=False,
            group_name=kwargs.get("group_name"),
        )

    def same_node(pg: Any, source_rank: int = 0) -> list[bool]:  # noqa: ARG001
        return [True] * (pg.world_size if hasattr(pg, "world_size") else dist.get_world_size(pg))

    dist.new_group = new_group
    ps.init_model_parallel_group = group
    ps.in_the_same_node_as = same_node
    ps._node_count = lambda _pg: 1
