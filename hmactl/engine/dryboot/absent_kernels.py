"""Stand in for the Python packages of kernels that vLLM's CUDA build requires.

A CPU build is installed without them, and the engine takes their absence for a choice: another
attention backend, another block size. None of their kernels is ever run in a dry boot. A package
that is really installed always wins.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

# What vLLM's CUDA wheels require and its other wheels do not (metadata of 0.32).
_REQUIRED = (
    "cudnn",
    "cutlass",
    "flashinfer",
    "humming",
    "quack",
    "tilelang",
    "tokenspeed_mla",
)
# Belongs to an absent FlashInfer only: one that is installed may do without its ready kernels (0.33
# requires no more), and then vLLM decides by what is there whether it uses FlashInfer.
_FLASHINFER_KERNELS = "flashinfer_cubin"
# What only CUDA wheels bundle; a version that has no such module never asks for it.
_BUNDLED = (
    "vllm._deepselect_C",
    "vllm._flashkda_C",
    "vllm.third_party.fmha_sm100",
    "vllm.third_party.kda",
    "vllm.third_party.tml_fa4",
    "vllm.third_party.triton_kernels",
    "vllm.vllm_flash_attn.cute",
)
# Bundled Python around an extension that links the driver.
_NEED_A_DRIVER = ("vllm.third_party.deep_gemm",)


def stand_in() -> list[str]:
    """Put stand-ins in place; returns the names of the packages that are not installed."""
    absent = [name for name in _REQUIRED if importlib.util.find_spec(name) is None]
    if "flashinfer" in absent and importlib.util.find_spec(_FLASHINFER_KERNELS) is None:
        absent.append(_FLASHINFER_KERNELS)
    sys.meta_path.append(_Finder(frozenset((*absent, *_BUNDLED))))
    return absent


def stand_in_for_flash_attention_4() -> None:
    """FA4 is Python inside the CUDA wheel, and vLLM looks for its file instead of importing it."""
    with contextlib.suppress(ImportError):
        module: Any = importlib.import_module("vllm.vllm_flash_attn.flash_attn_interface")
        if hasattr(module, "FA4_AVAILABLE"):
            module.FA4_AVAILABLE = True


def stand_in_for_what_does_not_load() -> list[str]:
    """Needs the platform; returns the names of the bundled packages that want a real GPU."""
    broken = [name for name in _NEED_A_DRIVER if not _loads(name)]
    for name in broken:
        for loaded in [other for other in sys.modules if f"{other}.".startswith(f"{name}.")]:
            del sys.modules[loaded]
        sys.meta_path.insert(0, _Finder(frozenset((name,))))
    return broken


def _loads(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        return error.name == name  # it is not there, and somebody else's business
    except Exception:  # noqa: BLE001 - whatever its start-up makes of a machine without GPU
        return False
    return True


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on sys.meta_path, so a real module is found first."""

    def __init__(self, absent: frozenset[str]) -> None:
        self._absent = absent

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if fullname not in self._absent and not isinstance(parent, _Module):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__file__ = f"<stand-in for {module.__name__}>"
        vars(module).update(_ANSWERING.get(module.__name__, {}))


class _PagedMla:
    """vLLM looks at this signature to tell FlashInfer 0.6.18 or newer, which 0.32 requires."""

    def run(self, *_args: Any, ckv_scale_arr: Any = None, **_kwargs: Any) -> None: ...


def _no_bytes(*_args: Any, **_kwargs: Any) -> int:
    """0.33 allocates a counter of this size for each attention layer; no cache lies in it."""
    return 0


# What the engine takes an answer from, instead of only holding it.
_ANSWERING: dict[str, dict[str, Any]] = {
    "flashinfer.mla": {"BatchMLAPagedAttentionWrapper": _PagedMla},
    "flashinfer.utils": {"get_trtllm_gen_multi_ctas_kv_counter_bytes": _no_bytes},
}


class _Module(types.ModuleType):
    """A module that has whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _make(name)
        setattr(self, name, made)
        return made


class _Anything(type):
    """The class of stand-ins: they can be called, indexed, subclassed and used as decorators."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _make(name)
        setattr(cls, name, made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__bases__ != (object,):  # the engine's own class on top of a stand-in
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and inspect.isroutine(args[0]) | inspect.isclass(args[0]):
            return args[0]  # used as a decorator
        return cls

    def __getitem__(cls, _item: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __or__(cls, _other: Any) -> Any:
        return cls

    def __ror__(cls, _other: Any) -> Any:
        return cls


def _make(name: str) -> Any:
    return _Anything(name, (object,), {"__init__": _accept})


def _accept(_self: Any, *_args: Any, **_kwargs: Any) -> None: ...
