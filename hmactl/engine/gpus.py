"""The NVIDIA GPUs that a process of this user may use, and what is free on them now."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_QUERY = Path(__file__).with_name("device_query.py")
_SECONDS = 30


@dataclass(frozen=True, slots=True)
class LocalGpu:
    """One GPU, sizes in bytes. ``free`` is NVML's figure; None where it has none."""

    name: str
    usable_memory: int
    free: int | None


def local_gpus(environment: Mapping[str, str]) -> tuple[LocalGpu, ...] | None:
    """Those that CUDA shows under that environment, in its order.

    None where there is no driver, or it does not answer: nothing is known then.
    """
    try:
        done = subprocess.run(  # noqa: S603 - an argv of our own, no shell
            [sys.executable, "-I", str(_QUERY), "all"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=dict(environment),
            check=True,
        )
        return tuple(
            LocalGpu(gpu["name"], gpu["usable_memory"], gpu["free"])
            for gpu in json.loads(done.stdout)
        )
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return None
