"""What is asked of the estimator."""

from dataclasses import dataclass, field
from typing import Any

from hmactl.catalogue.gpus import Gpu


class UnknownError(Exception):
    """The estimator cannot know this; the message says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """A deployment as far as its KV cache depends on it.

    ``config`` is the model's config.json; ``vllm`` None: of any checked version. What is None is
    the engine's own default. ``memory`` is bytes of KV cache of every rank; without it there are
    no numbers of blocks or tokens. ``max_model_len`` -1 would be fitted to the memory, and is not
    estimated. ``speculative``: a draft joins the KV cache groups.
    """

    config: dict[str, Any] = field(hash=False)
    vllm: str | None = None
    gpu: Gpu | None = None
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    block_size: int | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    prefix_caching: bool | None = None
    async_scheduling: bool | None = None
    mamba_cache_mode: str | None = None
    mamba_block_size: int | None = None
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    num_gpu_blocks_override: int | None = None
    attention_backend: str | None = None
    memory: int | None = None
    speculative: bool = False
