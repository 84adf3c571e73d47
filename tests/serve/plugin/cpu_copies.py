"""A plugin of vLLM for tests: offloading connectors on the CPU platform.

SimpleCPUOffloadConnector and OffloadingConnector copy blocks with CUDA. Here the copy is a plain
one and done at once, streams and events are empty, and what asks for a GPU is answered; the
scheduler, the KV cache groups, what is looked up and counted are vLLM's own.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

Copy = tuple[int, int, int]


def register() -> None:
    """What vLLM calls in each of its processes."""
    from vllm.platforms import current_platform

    if current_platform.is_cpu():
        _simple_offload()
        _offload(current_platform)


class Event:
    """What has been done at once is done."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        pass

    def record(self, *_arguments: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, _end: "Event") -> float:
        return 1.0


class Stream:
    """Nothing waits for anything."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        pass

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, 0

    def wait_stream(self, _other: Any) -> None:
        pass

    def wait_event(self, _event: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_error: object) -> None:
        pass


class _With:
    """A module or an object with some of its attributes replaced."""

    def __init__(self, original: Any, **replaced: Any) -> None:
        self._original = original
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _simple_offload() -> None:
    from vllm.v1.simple_kv_offload import copy_backend, worker

    def build_params(
        source: dict[str, Any], target: dict[str, Any], _stream: Any, **_options: Any
    ) -> list[Copy]:
        return [
            (one.data_ptr(), other.data_ptr(), one.stride(0) * one.element_size())
            for one, other in zip(source.values(), target.values(), strict=True)
        ]

    def copy_blocks(sources: Sequence[int], targets: Sequence[int], params: list[Copy]) -> None:
        for source, target, size in params:
            for one, other in zip(sources, targets, strict=True):
                ctypes.memmove(target + other * size, source + one * size, size)

    copy_backend.build_params, copy_backend.copy_blocks = build_params, copy_blocks
    cuda = _With(torch.cuda, Stream=Stream, current_stream=Stream)
    worker.torch = _With(torch, Event=Event, cuda=cuda)
    copy_backend.torch = _With(torch, Event=Event)


class _OnGpu(torch.Tensor):  # type: ignore[misc]
    """A tensor that says it is on a GPU."""

    is_cuda = True


def _offload(platform: Any) -> None:
    from vllm.v1.kv_offload.cpu import gpu_worker, spec

    def swap(sources: Any, targets: Any, sizes: Any, **_options: Any) -> None:
        for source, target, size in zip(
            sources.tolist(), targets.tolist(), sizes.tolist(), strict=True
        ):
            ctypes.memmove(target, source, size)

    handler = gpu_worker.SingleDirectionOffloadingHandler
    original = handler.__init__

    def initialise(self: Any, gpu_tensors: list[Any], *arguments: Any, **options: Any) -> None:
        there = [tensor.as_subclass(_OnGpu) for tensor in gpu_tensors]
        original(self, there, *arguments, **options)

    handler.__init__ = initialise
    gpu_worker._select_swap_blocks_fn = lambda *_arguments, **_options: swap
    gpu_worker.torch = _With(torch, Event=Event)
    gpu_worker.current_platform = _With(
        platform, Stream=Stream, current_stream=Stream, stream=lambda stream: stream
    )
    # Only where it asks whether there is a GPU at all; where memory lies it asks elsewhere.
    ask = spec.CPUOffloadingSpec.get_worker

    def get_worker(self: Any, kv_caches: Any) -> Any:
        if not self._worker:
            self._worker = self.create_worker(kv_caches)
        return ask(self, kv_caches)

    spec.CPUOffloadingSpec.get_worker = get_worker
