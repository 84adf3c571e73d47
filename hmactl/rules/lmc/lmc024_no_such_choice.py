"""An LMCache setting has a value that LMCache does not have.

What: some settings are one of a few words, and LMCache only finds out when it makes the part that
needs it: the eviction policy, the serializer, the role in P/D, the way to look up.

Why: LMCache fails to initialise, and the server goes on without it ("System will operate in
degraded mode").

Failing example: `lmcache: {cache_policy: LRUK}`.

Passing example: `lmcache: {cache_policy: LRU}`.

Source: LMCache 0.5.6: `get_cache_policy`, `CreateSerde`, `PathSharder`, `NUMADetector`, `PDConfig`,
`LookupClientFactory`.

Since: 0.1.0.
"""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import (
    as_written,
    in_process_settings,
    origin_of,
    value_edit,
    written,
)
from hmactl.rules.misspelt import meant

ID = "LMC024"
SEVERITY = Severity.ERROR

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """The words of one setting, and when LMCache looks at it. ``folds``: case does not matter."""

    words: tuple[str, ...]
    read: Callable[[Values], object] = lambda _values: True
    folds: bool = False


CHOICES = {
    "cache_policy": Choice(("LRU", "LFU", "FIFO", "MRU"), folds=True),
    "remote_serde": Choice(
        ("naive", "kivi", "cachegen"),
        lambda v: v.get("remote_url") is not None or v.get("remote_storage_plugins"),
    ),
    "local_disk_path_sharding": Choice(("by_gpu",), lambda v: v.get("local_disk")),
    "gds_path_sharding": Choice(("by_gpu",), lambda v: v.get("gds_path")),
    "numa_mode": Choice(("auto", "manual")),
    "pd_role": Choice(("sender", "receiver", "both"), lambda v: v.get("enable_pd")),
}


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such value."""
    if (settings := in_process_settings(case)) is None:
        return
    values = settings.values
    for key, choice in CHOICES.items():
        value = values.get(key)
        if not isinstance(value, str) or written(case, key) is None or not choice.read(values):
            continue
        if (value.upper() if choice.folds else value) in choice.words:
            continue
        near = difflib.get_close_matches(value, choice.words, 1, 0.5)
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache has no {as_written(case, key)}",
            "LMCache fails to initialise and the server goes on without it",
            f"`{key}: {near[0]}`" if near else f"one of {', '.join(choice.words)}",
            origin_of(case, key),
            value_edit(case, key, value, meant(value, _alike(value, choice.words), ())),
        )
    lookup = values.get("external_lookup_client")
    if isinstance(lookup, str) and lookup and not lookup.startswith("mooncakestore://"):
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache has no lookup client for {as_written(case, 'external_lookup_client')}",
            "LMCache fails to initialise and the server goes on without it",
            "`external_lookup_client: mooncakestore://host:port`, or leave it out",
            origin_of(case, "external_lookup_client"),
        )


def _alike(value: str, words: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(value, words, 2, 0.75)
