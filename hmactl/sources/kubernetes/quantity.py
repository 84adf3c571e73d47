"""Kubernetes' quantities, such as ``64Gi``."""

import re
from decimal import Decimal

_FORM = re.compile(r"\+?(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?")
_MAX_LENGTH = 40
_LARGEST = 2**63 - 1
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def quantity(text: str) -> int | None:
    """A quantity as a whole number, rounded up as Kubernetes does; None for anything else.

    ``64Gi`` are powers of 1024, ``64G`` and ``64e9`` powers of 1000, ``1500m`` thousandths.
    """
    form = _FORM.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if form is None:
        return None
    number, suffix, exponent = form.groups()
    if suffix and suffix.endswith("i"):
        value = Decimal(number) * 1024 ** ("KMGTPE".index(suffix[0]) + 1)
    else:
        value = Decimal(number).scaleb(_DECIMAL[suffix] if suffix else int(exponent or 0))
    whole = int(value.to_integral_value(rounding="ROUND_CEILING"))
    return whole if whole <= _LARGEST else None
