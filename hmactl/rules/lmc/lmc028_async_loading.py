"""Asynchronous loading with something that it does not work with.

What: with `enable_async_loading` an `external_lookup_client` is refused. With layer-by-layer
loading or NIXL storage it has never worked: LMCache's own source says that the first is still to be
done.

Why: LMCache fails to initialise and the server goes on without it, or the engine ends at a request.

Failing example: `lmcache: {enable_async_loading: true, use_layerwise: true}`.

Passing example: one of the two.

Source: `LookupClientFactory` and `StorageManager` in LMCache 0.5.6;
https://github.com/LMCache/LMCache/issues/3685.

Since: 0.1.0.
"""

from collections.abc import Iterator
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "LMC028"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each of them."""
    settings = in_process_settings(case)
    if settings is None or not settings.values.get("enable_async_loading"):
        return
    for what, consequence in _conflicts(settings.values):
        yield Finding(
            ID,
            SEVERITY,
            f"`enable_async_loading` does not work with {what}",
            consequence,
            f"`enable_async_loading: false`, or without {what}",
            origin_of(case, "enable_async_loading"),
        )


def _conflicts(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    extra = values.get("extra_config")
    if values.get("external_lookup_client") is not None:
        yield (
            "`external_lookup_client`",
            "LMCache fails to initialise and the server goes on without it",
        )
    if values.get("use_layerwise"):
        yield "`use_layerwise`", "what is loaded is not what the layers ask for"
    if isinstance(extra, dict) and extra.get("enable_nixl_storage"):
        yield "`enable_nixl_storage`", "the engine ends at a request that finds something"
