"""Stand in for Python packages that a CUDA build of vLLM brings and a CPU build of old does not.

Versions that can do without are left alone: they ask whether the package is there.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_FLASH_ATTENTION = "vllm.vllm_flash_attn"
_HUMMING = "humming"


def watch() -> None:
    """From now on, such a package is imported as a stand-in if it is not there."""
    sys.meta_path.insert(0, _PackageFinder())


class _PackageFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self) -> None:
        self._absent: dict[str, bool] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        for package in (_FLASH_ATTENTION, _HUMMING):
            if fullname == package:
                self._absent[package] = _is_absent(package, path)
            if (fullname + ".").startswith(package + ".") and self._absent.get(package):
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        if name == f"{_FLASH_ATTENTION}.flash_attn_interface":
            vars(module).update(_flash_attention_versions())
        else:
            vars(module)["__getattr__"] = lambda attribute: _placeholder(name, attribute)


def _is_absent(package: str, path: Sequence[str] | None) -> bool:
    if package == _HUMMING and _does_without_humming():
        return False
    spec = importlib.machinery.PathFinder.find_spec(package, path)
    # A directory without code is a namespace package.
    return spec is None or spec.loader is None or spec.origin is None


def _does_without_humming() -> bool:
    imports = sys.modules.get("vllm.utils.import_utils")
    if imports is None:
        return True
    source = Path(str(imports.__file__)).parent.parent.joinpath(
        "model_executor/layers/quantization/humming.py"
    )
    return hasattr(imports, "has_humming") or not source.exists()


def _flash_attention_versions() -> dict[str, Any]:
    """What vLLM's own flash attention says of itself when it was built for CUDA."""

    def is_fa_version_supported(version: int, _device: Any = None) -> bool:
        from vllm.platforms import current_platform

        major, minor = current_platform.get_device_capability()
        if version == 2:
            return bool(major >= 8)
        return version == 3 and (major == 9 or (major == 8 and minor not in (6, 9)))

    def fa_version_unsupported_reason(version: int, _device: Any = None) -> str | None:
        return None if is_fa_version_supported(version) else "the compute capability"

    return {
        "is_fa_version_supported": is_fa_version_supported,
        "fa_version_unsupported_reason": fa_version_unsupported_reason,
    }


class _Kind(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(cls.__name__, name)


def _placeholder(of: str, name: str) -> Any:
    """A function that must not be called, or something with anything in it."""
    if name.startswith("__"):
        raise AttributeError(name)
    if of.startswith(_FLASH_ATTENTION):

        def never_run(*_args: Any, **_kwargs: Any) -> None:
            raise RuntimeError(f"{of}.{name} does not exist in this build and cannot run")

        return never_run
    return _Kind(name, (), {})
