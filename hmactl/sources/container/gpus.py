"""How many GPUs a container gets."""

import csv

from hmactl.sources.process.word import Word

_CDI = "nvidia.com/gpu="


def gpus_option(value: Word) -> int | None:
    """The number of GPUs behind ``--gpus``; None for ``all`` and for what is not understood."""
    if not value.known or "\n" in value.text or "\r" in value.text:
        return None
    try:
        fields = next(csv.reader([value.text]), [])
    except csv.Error:
        return None
    count = None
    for field in fields:
        key, equals, text = field.partition("=")
        if equals and key == "device":
            count = len([name for name in text.split(",") if name])
        elif (not equals and len(fields) == 1) or key == "count":
            count = number(text if equals else field)
    return count


def devices(values: list[Word]) -> int | None:
    """The number of GPUs among the values of ``--device``; None where it is not certain."""
    names = [v.text.removeprefix(_CDI) for v in values if v.text.startswith(_CDI)]
    if not names or "all" in names or any(not v.known for v in values):
        return None
    return len(set(names))


def number(text: str) -> int | None:
    """A count, or None where it is none."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None
