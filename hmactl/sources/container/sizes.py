"""Sizes and limits as Docker, Podman and Compose read them."""

import re
from decimal import Decimal

from hmactl.deployment.deployment import UNLIMITED

DEFAULT_SHM = 64 << 20
"""What /dev/shm has in a container that is not told otherwise."""

_FORM = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgtp]?)i?b?\s*", re.IGNORECASE)
_MAX_LENGTH = 40
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def container_size(text: str) -> int | None:
    """Bytes in ``16g``, ``16GB``, ``16GiB`` (all powers of 1024) or ``1073741824``.

    None for anything else, negative sizes included, which stand for no limit.
    """
    form = _FORM.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if form is None:
        return None
    size = int(Decimal(form[1]) * 1024 ** _POWERS[form[2].lower()])
    return size if size <= UNLIMITED else None


def lock_limit(text: str) -> int | None:
    """Bytes in the value of ``memlock``, such as ``-1``, ``-1:-1`` or ``8388608:16777216``.

    The first counts, which is the soft limit. None where it is no number.
    """
    soft = text.partition(":")[0].strip()
    if soft in {"-1", "unlimited"}:
        return UNLIMITED
    return int(soft) if soft.isascii() and soft.isdigit() and len(soft) <= _MAX_LENGTH else None
