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
# Imported only by versions that have them; a CPU build's own may have been built for another torch.
_EXTENSIONS_OF_SOME = (
    "vllm._C",
    "vllm._moe_C",
    "vllm._rocm_C",
    "vllm.fs_io_C",
    "vllm.spinloop",
    "vllm.vllm_flash_attn._vllm_fa2_C",
    "vllm.vllm_flash_attn._vllm_fa3_C",
)
_LAZY_MODULES = (
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
        "_flashkda_C",
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


def watch() -> None:
    """From now on, an extension that does not load is imported as an empty module."""
    sys.meta_path.insert(0, _ExtensionFinder())
    sys.meta_path.append(_LazyFinder())


def stand_in() -> list[str]:
    """Put stand-ins in place; returns the names of the modules that had to be replaced.

    Needs the platform module to be imported, because that imports the extensions which register
    the operators that are defined here if they are absent.
    """
    for name in _EXTENSIONS:
        importlib.import_module(name)
    if not _has_capability_queries():
        _define_capability_queries()
        _define_ops_on_first_use()
    return sorted(_replaced)


_replaced: set[str] = set()


class _ExtensionFinder(importlib.abc.MetaPathFinder):
    """First on sys.meta_path: finds the real extension and survives that it does not load."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _EXTENSIONS and fullname not in _EXTENSIONS_OF_SOME:
            return None
        real = importlib.machinery.PathFinder.find_spec(fullname, path)
        if _libraries and fullname.rpartition(".")[2] in _NAMESPACES:
            # It would define operators that are stood in for already, which ends the process.
            real = None
        loader = _Lenient(None if real is None else real.loader)
        origin = None if real is None else real.origin
        return importlib.machinery.ModuleSpec(fullname, loader, origin=origin)


class _Lenient(importlib.abc.Loader):
    """Loads as another loader does, or leaves the module empty."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        if self._real is not None:
            try:
                module: types.ModuleType | None = self._real.create_module(spec)
            except (ImportError, OSError):
                self._real = None
            else:
                return module
        _replaced.add(spec.name)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        if self._real is not None:
            self._real.exec_module(module)


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


def _has_capability_queries() -> bool:
    import torch

    return any(hasattr(getattr(torch.ops, space), name) for space, name in _CAPABILITY_QUERIES)


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
    library = _library("_flashkda_C")
    with contextlib.suppress(RuntimeError):  # scratch space, which is none of the KV cache
        library.define("get_workspace_size(int tokens, int heads, int requests) -> int")
        library.impl("get_workspace_size", lambda *_sizes: 0, "CompositeImplicitAutograd")


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
    _describe_absent_ops_too()


def _describe_absent_ops_too() -> None:
    # Older versions tell torch the shapes of several operators when they find the first of them.
    import torch

    library: Any = torch.library
    original = library.register_fake

    def register_fake(op: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, str) and "::" in op:
            namespace, name = op.split("::", 1)
            if namespace in _NAMESPACES:
                getattr(getattr(torch.ops, namespace), name.partition(".")[0], None)
        return original(op, *args, **kwargs)

    library.register_fake = register_fake


def _cpu_only(name: str) -> bool:
    return name.startswith(_CPU_ONLY_PREFIXES) or any(part in name for part in _CPU_ONLY)
