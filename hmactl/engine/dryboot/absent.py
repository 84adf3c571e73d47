"""Stand in for compiled extensions that this vLLM build does not have.

A CPU build has none of the CUDA extensions, and a CUDA build cannot load them without a driver.
The engine imports them and asks a few for capabilities while it makes its configuration; none of
them is ever run in a dry boot. A real extension always wins.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

_EXTENSIONS = (
    "vllm._C_stable_libtorch",
    "vllm._moe_C_stable_libtorch",
    "vllm._flashmla_C",
    "vllm._flashmla_extension_C",
    "vllm.cumem_allocator",
)
_LAZY_MODULES = (
    "vllm.vllm_flash_attn._vllm_fa2_C",
    "vllm.vllm_flash_attn._vllm_fa3_C",
    "vllm.third_party.flashmla",
    "vllm.third_party.flashmla.flash_mla_interface",
    "vllm.third_party.deep_gemm",
    "vllm.third_party.deep_gemm.utils",
)
# What a CUDA 13 build of vLLM's own C++ answers; the conditions are those of csrc in vLLM 0.32.
_CAPABILITY_QUERIES = {
    ("_C", "cutlass_scaled_mm_supports_fp8"): lambda cap: cap >= 89,
    ("_C", "cutlass_scaled_mm_supports_block_fp8"): lambda cap: cap >= 90,
    ("_C", "cutlass_scaled_mm_supports_fp4"): lambda cap: 100 <= cap < 130,
    ("_C", "mxfp4_experts_quant_supported"): lambda cap: 100 <= cap < 120,
    ("_C", "cutlass_group_gemm_supported"): lambda cap: cap >= 90,
}
_NAMESPACES = frozenset(
    {
        "_C",
        "_C_cache_ops",
        "_C_custom_ar",
        "_flashmla_C",
        "_flashmla_extension_C",
        "_moe_C",
        "_qutlass_C",
        "_vllm_fa2_C",
        "_vllm_fa3_C",
    }
)
# vLLM probes for these with hasattr() to find out about a CPU build: they must stay absent.
_CPU_ONLY = ("onednn", "cpu_")
_CPU_ONLY_PREFIXES = ("_", "convert_weight_packed", "dynamic_4bit", "init_cpu")

_libraries: dict[str, Any] = {}


def stand_in() -> list[str]:
    """Put stand-ins in place; returns the names of the modules that had to be replaced."""
    sys.meta_path.append(_LazyFinder())
    absent = [name for name in _EXTENSIONS if not _loads(name)]
    for name in absent:
        _put(types.ModuleType(name))
    if "vllm._C_stable_libtorch" in absent:
        _define_capability_queries()
        _define_ops_on_first_use()
    return absent


def _loads(name: str) -> bool:
    try:
        importlib.import_module(name)
    except (ImportError, OSError):
        return False
    return True


def _put(module: types.ModuleType) -> None:
    sys.modules[module.__name__] = module
    parent, _, leaf = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], leaf, module)


class _LazyFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on sys.meta_path, so a real module is found first."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _LAZY_MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        if "third_party" in module.__name__:
            vars(module)["__getattr__"] = lambda name: _placeholder(module.__name__, name)


def _placeholder(module: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name[0].isupper():
        return type(name, (), {})

    def never_run(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError(f"{module}.{name} does not exist in this build and cannot run")

    return never_run


def _library(namespace: str) -> Any:
    import torch

    if namespace not in _libraries:
        _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return _libraries[namespace]


def _define_capability_queries() -> None:
    for (namespace, name), supports in _CAPABILITY_QUERIES.items():
        library = _library(namespace)
        with contextlib.suppress(RuntimeError):  # this build has the real one
            library.define(f"{name}(int cap) -> bool")
            library.impl(name, supports, "CompositeImplicitAutograd")
    library = _library("_moe_C")
    with contextlib.suppress(RuntimeError):
        library.define("moe_permute_unpermute_supported() -> bool")
        library.impl("moe_permute_unpermute_supported", lambda: True, "CompositeImplicitAutograd")


def _define_ops_on_first_use() -> None:
    from torch._ops import _OpNamespace

    original = _OpNamespace.__getattr__
    defining: set[tuple[str, str]] = set()

    def lookup(self: Any, name: str) -> Any:
        try:
            return original(self, name)
        except AttributeError:
            op = (self.name, name)
            if self.name not in _NAMESPACES or _cpu_only(name) or op in defining:
                raise
            defining.add(op)
            try:
                _library(self.name).define(f"{name}() -> ()")
                _library(self.name).define(f"{name}.out() -> ()")
            finally:
                defining.discard(op)
            return original(self, name)

    _OpNamespace.__getattr__ = lookup


def _cpu_only(name: str) -> bool:
    return name.startswith(_CPU_ONLY_PREFIXES) or any(part in name for part in _CPU_ONLY)
