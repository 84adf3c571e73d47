"""The GPUs that hmactl can stand in for."""

import difflib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CPU = "cpu"
DEFAULT_GPU = "H100-80GB"


class UnknownGpuError(ValueError):
    """No such GPU in the catalogue; the message names similar ones."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a driver reports of one GPU. Sizes in bytes.

    ``memory`` is NVML's total; ``usable_memory`` is what CUDA reports as total, of which
    gpu_memory_utilization is a share.
    """

    id: str
    name: str
    capability: tuple[int, int]
    memory: int
    usable_memory: int
    sm_count: int
    shared_memory: int
    aliases: tuple[str, ...]
    source: str


def find_gpu(name: str) -> Gpu | None:
    """The GPU of that name or alias, in any case; None for "cpu".

    Raises UnknownGpuError.
    """
    wanted = _fold(name)
    if wanted == CPU:
        return None
    by_name = {_fold(n): gpu for gpu in _all() for n in (gpu.id, gpu.name, *gpu.aliases)}
    if wanted in by_name:
        return by_name[wanted]
    close = difflib.get_close_matches(wanted, list(by_name), n=3, cutoff=0.5)
    similar = list(dict.fromkeys(by_name[n].id for n in close)) or [g.id for g in _all()]
    raise UnknownGpuError(
        f"no GPU `{name}` in the catalogue; it has {', '.join(similar)} and `cpu`"
        if not close
        else f"no GPU `{name}` in the catalogue; similar: {', '.join(similar)}"
    )


def known_gpus() -> tuple[str, ...]:
    """The ids of all GPUs in the catalogue."""
    return tuple(gpu.id for gpu in _all())


def _fold(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-").removeprefix("nvidia-")


@cache
def _all() -> tuple[Gpu, ...]:
    data = json.loads(files(__package__).joinpath("data/gpus.json").read_text("utf-8"))
    return tuple(
        Gpu(
            **entry | {"capability": tuple(entry["capability"]), "aliases": tuple(entry["aliases"])}
        )
        for entry in data["gpus"]
    )
