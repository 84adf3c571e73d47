"""Weights that vLLM quantises while it loads them (``--quantization fp8`` of a bf16 checkpoint).

They are built in the checkpoint's type, so their size in the end follows from the method's name.
"""

import re
from typing import Any

# Bits of a weight with the scale of its block: MX has a byte for 32 values, NVFP4 one for 16.
# The scales of the others are for whole tensors, rows or large blocks.
_BITS = {"Fp8": 8.0, "Int8": 8.0, "Mxfp8": 8.25, "Mxfp4": 4.25, "Nvfp4": 4.5}
_ONLINE = re.compile(r"_?(Fp8|Int8|Mxfp8|Mxfp4|Nvfp4)\w*Online\w*Method")
# Before there were methods of their own for it, up to where the checkpoint is quantised already.
_EITHER = re.compile(r"(Fp8)(Linear|MoE)Method")
_WEIGHTS = ("weight", "w13_weight", "w2_weight")


def saved_bytes(model: Any) -> int:
    """How much smaller the model's weights are once they have been quantised."""
    saved = 0.0
    for module in model.modules():
        bits = _bits(getattr(module, "quant_method", None))
        if bits is None:
            continue
        for name in _WEIGHTS:
            weight = module._parameters.get(name)
            if weight is not None and weight.dtype.is_floating_point and weight.element_size() > 1:
                saved += weight.numel() * (weight.element_size() - bits / 8)
    return int(saved)


def _bits(method: Any) -> float | None:
    name = type(method).__name__
    if (online := _ONLINE.fullmatch(name)) is not None:
        return _BITS[online[1]]
    config = getattr(method, "quant_config", None)
    serialized = getattr(config, "is_checkpoint_fp8_serialized", True)
    if not serialized and (either := _EITHER.fullmatch(name)) is not None:
        return _BITS[either[1]]
    return None
