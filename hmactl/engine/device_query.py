"""Ask the NVIDIA driver about its first GPU. Run as a script, it prints one JSON object.

With the argument ``all`` it is a list of all GPUs that CUDA shows, with what is free on them.

The figures are those that the engine gets: CUDA's name, compute capability, memory, SM count and
shared memory, and NVML's memory. It runs in a process of its own, because a broken driver can hang
or crash whoever loads its libraries. Standard library only.
"""

import ctypes
import json
import sys

# CUdevice_attribute in cuda.h
_SM_COUNT = 16
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76
_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
_NAME_BYTES = 256


class _NvmlMemory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class _DriverError(Exception):
    """A function of the driver failed."""


def _main() -> None:
    try:
        answer = _all_gpus() if sys.argv[1:] == ["all"] else _first_gpu()
        print(json.dumps(answer))  # noqa: T201 - that is how it answers
    except (OSError, AttributeError, _DriverError) as error:
        sys.exit(str(error))


def _first_gpu() -> dict[str, object]:
    cuda = _cuda()
    device, name, usable, bus = _device(cuda, 0)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _call(cuda, "cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    memory = _nvml_memory(bus)
    return {
        "name": name,
        "capability": [attribute(_CAPABILITY_MAJOR), attribute(_CAPABILITY_MINOR)],
        # Where there is no NVML, the engine too takes CUDA's figure for both.
        "memory": usable if memory is None else memory.total,
        "usable_memory": usable,
        "sm_count": attribute(_SM_COUNT),
        "shared_memory": attribute(_SHARED_MEMORY_PER_BLOCK_OPTIN),
    }


def _all_gpus() -> list[dict[str, object]]:
    cuda = _cuda()
    count = ctypes.c_int()
    _call(cuda, "cuDeviceGetCount", ctypes.byref(count))
    answer: list[dict[str, object]] = []
    for ordinal in range(count.value):
        _number, name, usable, bus = _device(cuda, ordinal)
        memory = _nvml_memory(bus)
        free = None if memory is None else memory.free
        answer.append({"name": name, "usable_memory": usable, "free": free})
    return answer


def _cuda() -> ctypes.CDLL:
    cuda = ctypes.CDLL("libcuda.so.1")
    _call(cuda, "cuInit", 0)
    return cuda


def _device(cuda: ctypes.CDLL, ordinal: int) -> tuple[ctypes.c_int, str, int, bytes]:
    """A device's number, name, memory in bytes that CUDA can use, and PCI address."""
    device = ctypes.c_int()
    _call(cuda, "cuDeviceGet", ctypes.byref(device), ordinal)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda, "cuDeviceGetName", name, _NAME_BYTES, device)
    usable = ctypes.c_size_t()
    _call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(usable), device)
    bus = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda, "cuDeviceGetPCIBusId", bus, _NAME_BYTES, device)
    return device, name.value.decode("utf-8", "replace"), usable.value, bus.value


def _nvml_memory(bus: bytes) -> _NvmlMemory | None:
    """NVML's figures in bytes; None where it has none, as on GPUs that share the CPU's memory."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        _call(nvml, "nvmlInit_v2")
        handle = ctypes.c_void_p()
        _call(nvml, "nvmlDeviceGetHandleByPciBusId_v2", bus, ctypes.byref(handle))
        memory = _NvmlMemory()
        _call(nvml, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    except (OSError, AttributeError, _DriverError):
        return None
    return memory


def _call(library: ctypes.CDLL, function: str, *arguments: object) -> None:
    status = getattr(library, function)(*arguments)
    if status != 0:
        raise _DriverError(f"{function} returned {status}")


if __name__ == "__main__":
    _main()
