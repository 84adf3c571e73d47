"""Memory sizes as operators write them."""

import re

_FORM = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_MAX_LENGTH = 64
_LARGEST = 2**63 - 1
_PREFIXES = "kmgtpe"
_UNITS = (
    {"": 1, "b": 1}
    | {f"{prefix}{end}": 1000**n for n, prefix in enumerate(_PREFIXES, 1) for end in ("", "b")}
    | {f"{prefix}{end}": 1024**n for n, prefix in enumerate(_PREFIXES, 1) for end in ("i", "ib")}
)


def parse_size(text: str | int) -> int:
    """Bytes in a size such as ``"128 GiB"``, ``"1.5TiB"``, ``"512 MB"``, ``"40Gi"`` or ``1024``.

    Ki, Mi, Gi, Ti, Pi and Ei (with or without B) are powers of 1024, K, M, G, T, P and E powers of
    1000; case does not matter, and without a unit it is bytes. A fraction of a byte is dropped.
    Raises ValueError for anything else, negative sizes, and sizes above 8 EiB.
    """
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError("a size is a number of bytes or text such as `128 GiB`")  # noqa: TRY004
    size = text if isinstance(text, int) else _parse_text(text)
    if size < 0:
        raise ValueError("a size cannot be negative")
    if size > _LARGEST:
        raise ValueError("the size is larger than 8 EiB")
    return size


def _parse_text(text: str) -> int:
    form = _FORM.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if form is None:
        raise ValueError("a size is a number and a unit, such as `128 GiB` or `512 MB`")
    number, unit = form.groups()
    factor = _UNITS.get(unit.lower())
    if factor is None:
        raise ValueError(f"`{unit}` is not a unit of size; use for example GiB, MiB, GB or MB")
    if not unit and "." in number:
        raise ValueError("a size without a unit is a whole number of bytes")
    whole, _, fraction = number.partition(".")
    size: int = int(whole + fraction) * factor // 10 ** len(fraction)
    return size


def format_gib(n: int) -> str:
    """A number of bytes in GiB with two decimals, as vLLM prints memory: ``"5.46 GiB"``.

    Below a tenth of a GiB, where that would say little, in MiB: ``"64.00 MiB"``.
    """
    return f"{n / 2**30:.2f} GiB" if n >= 2**30 // 10 or n == 0 else f"{n / 2**20:.2f} MiB"
