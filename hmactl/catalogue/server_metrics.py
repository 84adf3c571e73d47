"""Which vLLM counts what in its ``/metrics``."""

from functools import cache
from typing import Any

from packaging.version import InvalidVersion

from hmactl.catalogue.data_file import load
from hmactl.catalogue.version import parsed


def counts(name: str, version: str | None) -> bool | None:
    """Whether that vLLM has a metric, or a label of ``vllm:cache_config_info``.

    None where its source was not read: it lies between two releases that differ, or is newer than
    all of them. Raises KeyError for a name that was not looked for.
    """
    data = _data()
    first = (data["metrics"] | data["labels"])[name]
    read = data["read"]
    before = read[read.index(first) - 1] if first != read[0] else None
    try:
        this = None if version is None else parsed(parsed(version).public)
    except InvalidVersion:
        return None
    if this is None or this > parsed(read[-1]):
        return None
    if this >= parsed(first):
        return True
    return False if before is not None and this <= parsed(before) else None


def first_that_counts(name: str) -> str:
    """The oldest release that was read and has it."""
    data = _data()
    first: str = (data["metrics"] | data["labels"])[name]
    return first


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = load("server-metrics.json")
    return data
