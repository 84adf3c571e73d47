"""Build tensors without storage, wherever the engine asks for them to be."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

_META = torch.device("meta")
_CONSTRUCTORS = _device_constructors()
_T = torch.Tensor
_READS = frozenset(
    {
        _T.item,
        _T.tolist,
        _T.cpu,
        _T.numpy,
        _T.__float__,
        _T.__int__,
        _T.__bool__,
        _T.__index__,
        _T.__contains__,
        # Its shape depends on values.
        _T.nonzero,
        torch.nonzero,
    }
)
_LARGEST_DUMMY_READ = 1 << 20  # elements


class MetaDevice(TorchFunctionMode):
    """Every tensor lands on the meta device unless an explicit CPU was asked for.

    ``torch.device("meta")`` as a context does not move explicit CUDA devices, integer devices or
    ``*_like``. ``dummy_reads`` counts how often a model read a value that does not exist (it got
    zeros); a non-zero count means that a decision may hang on it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dummy_reads = 0

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is _T.to:
            args = tuple(_META if i and _is_gpu(a) else a for i, a in enumerate(args))
            if _is_gpu(kwargs.get("device")):
                kwargs["device"] = _META
        elif func in _CONSTRUCTORS:
            if kwargs.get("device") is None or _is_gpu(kwargs["device"]):
                kwargs["device"] = _META
        elif _is_gpu(kwargs.get("device")):
            kwargs["device"] = _META
        elif (func in _READS or _asks_where(func, args, kwargs)) and _on_meta(args):
            self.dummy_reads += 1
            shape = args[0].shape if args[0].numel() < _LARGEST_DUMMY_READ else (1,)
            return func(torch.zeros(shape, dtype=args[0].dtype, device="cpu"), *args[1:], **kwargs)
        elif func is _T.cuda:
            return args[0].to(_META)
        elif func is _T.pin_memory:
            return args[0]
        return func(*args, **kwargs)


def _asks_where(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """``torch.where(condition)`` alone is a nonzero(): its shape depends on values."""
    return func is torch.where and len(args) == 1 and not kwargs


def _is_gpu(device: Any) -> bool:
    if isinstance(device, bool) or device is None:
        return False
    if isinstance(device, int):
        return True
    if isinstance(device, str):
        return device.split(":")[0] == "cuda"
    return getattr(device, "type", None) == "cuda"


def _on_meta(args: tuple[Any, ...]) -> bool:
    return bool(args) and isinstance(args[0], _T) and args[0].device.type == "meta"
