"""Ask the NVIDIA driver about its first GPU. Run as a script, it prints one JSON object.

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
        print(json.dumps(_first_gpu()))  # noqa: T201 - that is how it answers
    except (OSError, AttributeError, _DriverError) as error:
        sys.exit(str(error))


def _first_gpu() -> dict[str, object]:
    cuda = ctypes.CDLL("libcuda.so.1")
    _call(cuda, "cuInit", 0)
    device = ctypes.c_int()
    _call(cuda, "cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda, "cuDeviceGetName", name, _NAME_BYTES, device)
    usable = ctypes.c_size_t()
    _call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(usable), device)
    bus = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda, "cuDeviceGetPCIBusId", bus, _NAME_BYTES, device)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _call(cuda, "cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    return {
        "name": name.value.decode("utf-8", "replace"),
        "capability": [attribute(_CAPABILITY_MAJOR), attribute(_CAPABILITY_MINOR)],
        # Where there is no NVML, the engine too takes CUDA's figure for both.
        "memory": _nvml_memory(bus.value) or usable.value,
        "usable_memory": usable.value,
        "sm_count": attribute(_SM_COUNT),
        "shared_memory": attribute(_SHARED_MEMORY_PER_BLOCK_OPTIN),
    }


def _nvml_memory(bus: bytes) -> int | None:
    """NVML's total in bytes; None where it has none, as on GPUs that share the CPU's memory."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        _call(nvml, "nvmlInit_v2")
        handle = ctypes.c_void_p()
        _call(nvml, "nvmlDeviceGetHandleByPciBusId_v2", bus, ctypes.byref(handle))
        memory = _NvmlMemory()
        _call(nvml, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    except (OSError, AttributeError, _DriverError):
        return None
    return int(memory.total)


def _call(library: ctypes.CDLL, function: str, *arguments: object) -> None:
    status = getattr(library, function)(*arguments)
    if status != 0:
        raise _DriverError(f"{function} returned {status}")


if __name__ == "__main__":
    _main()
