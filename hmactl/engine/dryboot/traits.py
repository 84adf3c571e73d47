"""What this engine's code does with connectors that no configuration of it shows.

Each is read from the installed source at the one place where the engine does it, so that a patched
or unreleased engine answers for itself. None where that place is not found.
"""

import dataclasses
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .evidence import words

# LMCache's compiled operations for CUDA, by the names that they have had.
_OPERATIONS = ("lmcache.cuda_ops", "lmcache.c_ops")


def describe() -> dict[str, Any]:
    """The traits of the engine in this process."""
    return {
        "transfer_fields": _transfer_fields(),
        "ignores_unknown_fields": _or_none(_ignores_unknown_fields),
        "refuses_encoder_decoder": _or_none(_refuses_encoder_decoder),
        "refuses_external_mamba_hits": _or_none(_refuses_external_mamba_hits),
        "one_group_load_failures": _or_none(_one_group_load_failures),
        "requires_whole_mamba_blocks": _or_none(_requires_whole_mamba_blocks),
        "registers_models_with_lmcache": _or_none(_registers_models_with_lmcache),
        "tells_connectors_of_sleep": _or_none(_tells_connectors_of_sleep),
        "variables": _variables(),
        "lmcache_operations": lmcache_operations(),
    }


def lmcache_operations() -> dict[str, Any] | None:
    """Whether LMCache's compiled CUDA operations load beside this torch.

    None without LMCache, where LMCache has none, and where torch is no CUDA build: what serves on
    a GPU is then another environment. ``error`` is the loader's.
    """
    import torch

    # Its version says what a virtual GPU has it say.
    libraries = Path(torch.__file__).parent / "lib"
    if not (libraries / "libtorch_cuda.so").exists() or not _installed("lmcache"):
        return None
    for name in _OPERATIONS:
        if not _installed(name):
            continue
        error = None
        try:
            importlib.import_module(name)
        except Exception as failure:  # noqa: BLE001 - a shared object can fail in any way
            error = words(failure)
        return {"module": name, "error": error, "torch_cuda": torch.version.cuda}
    return None


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _or_none(question: Callable[[], bool | None]) -> bool | None:
    try:
        return question()
    except (AttributeError, ImportError, OSError, TypeError):
        return None


def _transfer_fields() -> list[str]:
    from vllm.config import KVTransferConfig

    return [field.name for field in dataclasses.fields(KVTransferConfig)]


def _ignores_unknown_fields() -> bool:
    from vllm.config import KVTransferConfig

    unknown: dict[str, Any] = {"kv_no_such_field": 1}
    try:
        KVTransferConfig(**unknown)
    except Exception:  # noqa: BLE001 - pydantic's or Python's, by version
        return False
    return True


def _variables() -> list[str]:
    import vllm.envs as envs

    return sorted(getattr(envs, "environment_variables", ()))


def _scheduler(method: str) -> str:
    from vllm.v1.core.sched.scheduler import Scheduler

    return inspect.getsource(getattr(Scheduler, method))


def _refuses_encoder_decoder() -> bool:
    return "Encoder-decoder models are not currently supported with KV" in _scheduler("__init__")


def _refuses_external_mamba_hits() -> bool | None:
    from vllm.v1.core.sched.scheduler import Scheduler

    if not hasattr(Scheduler, "_mamba_block_aligned_split"):
        return None
    return "assert num_external_computed_tokens == 0" in _scheduler("_mamba_block_aligned_split")


def _one_group_load_failures() -> bool:
    """Whether a failed block is looked for as if there were one KV cache group, whatever there is.

    Newer ones check first, and connectors have another way to report.
    """
    if "kv_cache_groups" in _scheduler("_handle_invalid_blocks"):
        return False
    return "(req_block_ids,) =" in _scheduler("_update_requests_with_invalid_blocks")


def _requires_whole_mamba_blocks() -> bool | None:
    """Whether a prompt can only advance by whole Mamba blocks in align mode.

    Newer ones let a block that is wider than a step advance in parts.
    """
    from vllm.v1.core.sched.scheduler import Scheduler

    if not hasattr(Scheduler, "_mamba_block_aligned_split"):
        return None
    split = _scheduler("_mamba_block_aligned_split")
    return "// block_size * block_size" in split and "max_prefill_tokens" not in split


def _registers_models_with_lmcache() -> bool | None:
    """Whether vLLM's workers tell LMCache of their model, which no release does by itself."""
    spec = importlib.util.find_spec("vllm")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    workers = [path for root in roots for path in (Path(root) / "v1" / "worker").rglob("*.py")]
    if not workers:
        return None
    return any("VLLMModelTracker" in path.read_text("utf-8") for path in workers)


def _tells_connectors_of_sleep() -> bool:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

    return hasattr(KVConnectorBase_V1, "unregister_kv_caches")
