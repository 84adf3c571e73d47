"""How LMCache in the vLLM process hashes tokens, without an engine.

LMCache asks vLLM for the algorithm, and takes Python's own hash where vLLM has none of that name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hmactl.catalogue.lmcache_config import Hashing, LMCacheConfig, hashing_of_vllm

_ALGORITHM = "pre_caching_hash_algorithm"
_BUILTIN = "builtin"
_RENAMED = {"sha256_cbor_64bit": "sha256_cbor"}
_SEED = "PYTHONHASHSEED"
_METHOD = "VLLM_WORKER_MULTIPROC_METHOD"


@dataclass(frozen=True, slots=True)
class Hashes:
    """``differ``: two processes that were started separately hash the same tokens differently.
    ``loads``: vLLM has the algorithm. None: it is not known."""

    differ: bool | None = None
    loads: bool | None = None


def hashes(
    release: LMCacheConfig,
    vllm: str | None,
    values: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Hashes:
    """What that LMCache beside that vLLM does; ``vllm`` None is any that the catalogue has."""
    algorithm = values.get(_ALGORITHM)
    if not isinstance(algorithm, str):
        return Hashes()
    if algorithm != _BUILTIN and not release.loading.hashes_by_name:
        return Hashes()
    found = {_with(one, algorithm, environment) for one in hashing_of_vllm(vllm)}
    differ = {one.differ for one in found}
    loads = {one.loads for one in found}
    return Hashes(
        differ.pop() if len(differ) == 1 else None, loads.pop() if len(loads) == 1 else None
    )


def _with(hashing: Hashing, algorithm: str, environment: Mapping[str, str]) -> Hashes:
    loads = _RENAMED.get(algorithm, algorithm) in hashing.names
    if environment.get(_METHOD, "spawn") != "spawn":
        return Hashes(False, loads)  # forked processes share their parent's seed
    seed = environment.get(_SEED, "")
    if not loads:
        # Which "random" and "" leave random.
        return Hashes(seed in {"", "random"}, loads)
    fixed = hashing.fixed_seed and not algorithm.startswith("xxhash")
    return Hashes(not seed and not fixed, loads)
