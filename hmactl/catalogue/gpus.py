"""The GPUs that hmactl can stand in for."""

import difflib
import re
from dataclasses import dataclass
from functools import cache

from hmactl.catalogue.data_file import load

CPU = "cpu"
DEFAULT_GPU = "H100-80GB"

_SIMILAR = 3
_SEPARATORS = re.compile(r"[\s_-]+")
# What a name may carry in front of what tells a GPU, and what the GPU operator puts behind it.
_PREFIXES = ("nvidia", "geforce")
_TIME_SLICED = "shared"
# A cloud's machine of a certain size: the family in front tells the GPU. With its separators,
# because `a3-highgpu-8g` has a size behind and `A100-80G` a memory.
_MACHINE_SIZES = (
    (re.compile(r"^([a-z]+\d+[a-z0-9-]*)\.(\d*xlarge|metal.*)$"), r"\1"),
    (re.compile(r"^(a[2-4]x?-[a-z]+gpu|g[24]-standard)-\d+g?(-\w+)?$"), r"\1"),
    (re.compile(r"^(?:standard[_-])?(n[cd])\d+([a-z].*)$"), r"\1\2"),
)
_NOT_NVIDIA = re.compile(
    r"^(amd|instinct|radeon|rocm|mi\d|gfx\d|rx\d|w7\d|r9\d00"
    r"|intel|gaudi|habana|hpu|hl\d|arc|xpu|max1\d|ponte"
    r"|google|tpu|cloudtpu|v[2-7][ep]|trillium|ironwood"
    r"|aws|inferentia|trainium|neuron|inf\d|trn\d|ascend|910|npu|apple|mps|m[1-5](pro|max|ultra)?$)"
)


class UnknownGpuError(ValueError):
    """No such GPU in the catalogue; the message names similar ones."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a driver reports of one GPU. Sizes in bytes.

    ``memory`` is NVML's total; ``usable_memory`` is what CUDA reports as total, of which
    gpu_memory_utilization is a share. With ``shared_name`` the driver gives ``name`` to cards with
    less memory as well, so the name does not find this one. ``of_this_machine``: not of the
    catalogue, but what the driver here said.
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
    shared_name: bool = False
    of_this_machine: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All that finds this GPU."""
        return (self.id, *(() if self.shared_name else (self.name,)), *self.aliases)


def find_gpu(name: str) -> Gpu | None:
    """The GPU of that id, driver's name or alias; None for "cpu".

    Case does not matter, nor do spaces, dashes, underscores and the vendor in front. A short name
    means the commonest card, as the catalogue says: H100 and A100 are the SXM ones with 80 GB.
    Raises UnknownGpuError.
    """
    key = fold(name)
    if key == CPU:
        return None
    by_key = _by_key()
    for candidate in (key, key + "b", key.removesuffix(_TIME_SLICED), fold(_machine_family(name))):
        if candidate in by_key:
            return by_key[candidate]
    if _NOT_NVIDIA.match(key):
        raise UnknownGpuError(
            f"`{name}` is not an NVIDIA GPU: hmactl virtualises only NVIDIA GPUs; "
            f"`{CPU}`, the plain CPU platform, is available as well"
        )
    similar = _similar(key)
    raise UnknownGpuError(
        f"no GPU `{name}` in the catalogue; similar: {', '.join(similar)}"
        if similar
        else f"no GPU `{name}` in the catalogue; `hmactl gpus` lists it, and there is `{CPU}`"
    )


@cache
def all_gpus() -> tuple[Gpu, ...]:
    """The whole catalogue, in its own order."""
    data = load("gpus.json")
    return tuple(
        Gpu(
            **entry | {"capability": tuple(entry["capability"]), "aliases": tuple(entry["aliases"])}
        )
        for entry in data["gpus"]
    )


def fold(name: str) -> str:
    """A name without what does not matter in it; two names of one fold find the same GPU."""
    key = _SEPARATORS.sub("", name.lower())
    for prefix in _PREFIXES:
        key = key.removeprefix(prefix)
    return key


def _machine_family(name: str) -> str:
    machine = name.strip().lower()
    for pattern, family in _MACHINE_SIZES:
        machine = pattern.sub(family, machine)
    return machine


@cache
def _by_key() -> dict[str, Gpu]:
    return {fold(name): gpu for gpu in all_gpus() for name in gpu.names}


def _similar(key: str) -> list[str]:
    """Ids of GPUs with a name like it, nearest first; shared names count here."""
    owners = {fold(gpu.name): gpu for gpu in all_gpus()} | _by_key()
    close = difflib.get_close_matches(key, list(owners), n=4 * _SIMILAR, cutoff=0.6)
    return list(dict.fromkeys(owners[k].id for k in close))[:_SIMILAR]
