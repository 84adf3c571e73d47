"""Which NVIDIA GPU this machine has, without a CUDA library."""

from pathlib import Path

_DRIVER = Path("/proc/driver/nvidia/gpus")


def local_gpu(driver: Path = _DRIVER) -> str | None:
    """The model name that the driver gives the first GPU; None where there is no such driver.

    The driver lists one directory per GPU with a file ``information``, in which "Model:" is the
    name that NVML reports.
    """
    for information in sorted(driver.glob("*/information")):
        try:
            lines = information.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == "Model" and value.strip():
                return value.strip()
    return None
