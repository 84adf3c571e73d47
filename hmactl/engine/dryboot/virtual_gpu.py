"""A GPU that is not there: answers the engine's questions as a real one of that kind would.

Must be installed before anything reads ``vllm.platforms.current_platform``.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import absent, absent_kernels, absent_packages


@dataclass(frozen=True)
class Gpu:
    """What the driver reports of one GPU. Sizes in bytes.

    ``memory`` is NVML's total, ``usable_memory`` what CUDA reports as total.
    """

    name: str
    capability: tuple[int, int]
    memory: int
    usable_memory: int
    sm_count: int
    shared_memory: int
    count: int


def install(gpu: Gpu) -> list[str]:
    """Make this process believe in ``gpu``; returns the extensions that had to be stood in for."""
    import torch

    # Triton tolerates a missing driver only when told that there are no devices.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    real_gpu = torch.cuda.is_available()
    if torch.version.cuda is None:
        torch.version.cuda = "13.0"
    absent.watch()
    absent_packages.watch()
    replaced = absent_kernels.stand_in()
    _platform(gpu)
    replaced += absent.stand_in()
    if not real_gpu:
        _triton_driver(gpu)
        _streams_and_events(gpu)
    _device_queries(gpu)
    replaced += absent_kernels.stand_in_for_what_does_not_load()
    absent_kernels.stand_in_for_flash_attention_4()
    return replaced


class _PlatformsFinder(importlib.abc.MetaPathFinder):
    """Tells ``vllm.platforms`` at its import which platform to resolve.

    Some versions ask for their platform before ``import vllm`` is done.
    """

    def __init__(self, make_platform: Callable[[], Any]) -> None:
        self._make_platform = make_platform

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "vllm.platforms":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                self._configure(module)

            loader.exec_module = exec_module
        return spec

    def _configure(self, platforms: Any) -> None:
        matches = platforms.vllm_version_matches_substr
        platforms.vllm_version_matches_substr = lambda part: part != "cpu" and matches(part)
        platforms.resolve_current_platform_cls_qualname = lambda: "vllm.platforms.virtual_gpu"
        platforms.virtual_gpu = self._make_platform


def _triton_driver(gpu: Gpu) -> None:
    try:
        import triton
        from triton.backends.compiler import GPUTarget
    except ImportError:
        return
    import torch

    class Utils:
        def get_device_properties(self, _device: int) -> dict[str, int]:
            return {
                "max_shared_mem": gpu.shared_memory,
                "multiprocessor_count": gpu.sm_count,
                "warpSize": 32,
                "sm_clock_rate": 1,
                "mem_clock_rate": 1,
                "mem_bus_width": 1,
                "max_num_regs": 65536,
            }

    class Driver:
        utils = Utils()

        @classmethod
        def is_active(cls) -> bool:
            return True

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", gpu.capability[0] * 10 + gpu.capability[1], 32)

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, _device: int) -> None: ...

        def get_current_stream(self, _device: int | None = None) -> int:
            return 0

        def get_device_capability(self, _device: int = 0) -> tuple[int, int]:
            return gpu.capability

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_active_torch_device(self) -> Any:
            return torch.device("cuda", 0)

        def map_python_to_cpp_type(self, kind: str) -> str:
            return kind

    triton.runtime.driver.set_active(Driver())


class _Idle:
    """A stream, event or context on a device that never does anything."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        import torch

        self.device = torch.device("meta")

    def __enter__(self) -> "_Idle":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: None


def _streams_and_events(gpu: Gpu) -> None:
    import torch

    # Dynamo keeps a table of torch functions by identity: each needs a stand-in of its own.
    for name in ("Stream", "Event", "ExternalStream"):
        setattr(torch.cuda, name, _Idle)
    for name in ("current_stream", "default_stream", "stream"):
        setattr(torch.cuda, name, lambda *_args: _Idle())
    for name in ("synchronize", "set_device", "empty_cache"):
        setattr(torch.cuda, name, lambda *_args: None)
    torch.cuda.graph_pool_handle = lambda: (0, 0)
    torch.Stream = _Idle
    torch.Event = _Idle
    accelerator: Any = torch.accelerator
    accelerator.current_device_index = lambda: 0
    accelerator.device_count = lambda: gpu.count
    accelerator.synchronize = lambda *_args: None
    accelerator.current_stream = lambda *_args: _Idle()
    accelerator.empty_cache = lambda: None
    accelerator.get_memory_info = lambda _device=None: (gpu.usable_memory, gpu.usable_memory)


def _device_queries(gpu: Gpu) -> None:
    import torch

    properties = types.SimpleNamespace(
        name=gpu.name,
        major=gpu.capability[0],
        minor=gpu.capability[1],
        total_memory=gpu.usable_memory,
        multi_processor_count=gpu.sm_count,
        is_integrated=0,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block_optin=gpu.shared_memory,
        L2_cache_size=50 << 20,
        gcnArchName="",
        uuid="GPU-virtual",
    )
    cuda: Any = torch.cuda
    cuda.get_device_properties = lambda _device=None: properties
    cuda.get_device_capability = lambda _device=None: gpu.capability
    cuda.get_device_name = lambda _device=None: gpu.name
    cuda.device_count = lambda: gpu.count
    cuda.current_device = lambda: 0
    cuda.mem_get_info = lambda _device=None: (gpu.usable_memory, gpu.usable_memory)


def _platform(gpu: Gpu) -> None:
    if "vllm.platforms" in sys.modules:
        raise RuntimeError("vLLM was imported before the virtual GPU was in place")
    sys.meta_path.insert(0, _PlatformsFinder(lambda: _make_platform(gpu)))
    import vllm.platforms as platforms

    if platforms.current_platform.get_device_name() != gpu.name:
        raise RuntimeError("vLLM chose another platform than the virtual GPU")
    import vllm.utils.torch_utils as torch_utils

    # Older versions count GPUs past their platform.
    if hasattr(torch_utils, "_cuda_device_count_stateless"):
        torch_utils._cuda_device_count_stateless = lambda *_visible: gpu.count


def _make_platform(gpu: Gpu) -> Any:
    from vllm.platforms import cuda
    from vllm.platforms.interface import DeviceCapability

    # Parameter names are vLLM's: callers pass them by keyword.
    class VirtualCudaPlatform(cuda.CudaPlatformBase):
        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:  # noqa: ARG003
            return DeviceCapability(*gpu.capability)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:  # noqa: ARG003
            return gpu.name

        @classmethod
        def get_device_uuid(cls, device_id: int = 0) -> str:
            return f"GPU-virtual-{device_id}"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:  # noqa: ARG003
            return gpu.memory

        @classmethod
        def device_count(cls) -> int:
            return gpu.count

        @classmethod
        def is_fully_connected(cls, physical_device_ids: list[int]) -> bool:  # noqa: ARG003
            return True

        @classmethod
        def num_compute_units(cls, device_id: int = 0) -> int:  # noqa: ARG003
            return gpu.sm_count

        @classmethod
        def is_integrated_gpu(cls, device_id: int = 0) -> bool:  # noqa: ARG003
            return False

        @classmethod
        def is_pin_memory_available(cls) -> bool:
            return False

        @classmethod
        def get_device_numa_node(cls, device_id: int = 0) -> int | None:  # noqa: ARG003
            return None

        @classmethod
        def get_all_device_numa_nodes(cls) -> list[int] | None:
            return None

        @classmethod
        def set_device(cls, device: Any) -> None: ...

        @classmethod
        def manual_seed_all(cls, seed: int) -> None: ...

    return VirtualCudaPlatform()
