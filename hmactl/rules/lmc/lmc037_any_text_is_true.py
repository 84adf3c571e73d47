"""A switch of LMCache's that any text switches on.

What: some of LMCache's switches only ask whether there is a value: `LMCACHE_FORCE_SKIP_SAVE`,
`discard_partial_chunks` of the connector, and those in `extra_config`. `false` and `0` as text are
values.

Why: the switch is on. With `LMCACHE_FORCE_SKIP_SAVE=0` nothing is ever stored.

Failing example: `env: {LMCACHE_FORCE_SKIP_SAVE: "false"}`.

Passing example: no such variable, or a YAML boolean in `extra_config`.

Source: LMCache 0.5.6, vllm_v1_adapter.py and where `extra_config` is read.

Since: 0.1.0.
"""

from collections.abc import Iterator
from dataclasses import replace

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Origin, Setting
from hmactl.facts.lmcache import SERVED
from hmactl.finding import Change, Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import (
    all_connectors,
    in_process_connectors,
    in_process_settings,
    origin_of,
)
from hmactl.rules.lmc.lmc008_read_as_false import says_no

ID = "LMC037"
SEVERITY = Severity.ERROR

_VARIABLES = ("LMCACHE_FORCE_SKIP_SAVE",)
_OF_THE_CONNECTOR = ("discard_partial_chunks",)
_OF_THE_SERVER_CONNECTOR = (
    *("lmcache.mp.eager_prefetch", "lmcache.mp.lazy_offload"),
    "lmcache.mp.transfer_intermediate_tensors",
)
# In `extra_config`, where LMCache 0.5.6 only looks whether there is something.
_OF_EXTRA = (
    *("enable_nixl_storage", "use_odirect", "save_chunk_meta", "save_only_first_rank"),
    *("use_exists_sync", "audit_backend_enabled", "remote_enable_mla_worker_id_as0"),
    *("nixl_presence_cache", "nixl_presence_cache_only", "nixl_use_hugepages"),
)


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such switch that was to be off."""
    settings = in_process_settings(case)
    if settings is not None:
        for setting in case.facts.deployment.env:
            # Empty text is no value.
            given = setting.name in _VARIABLES and setting.value not in ("", None)
            if given and says_no(setting.value):
                yield _finding(setting, "leave the variable out")
        for connector in in_process_connectors(case):
            for name in _OF_THE_CONNECTOR:
                yield from _of_connector(connector, name)
        extra = settings.values.get("extra_config")
        for name, value in extra.items() if isinstance(extra, dict) else ():
            if name in _OF_EXTRA:
                yield from _text(name, value, origin_of(case, "extra_config"))
    for connector in all_connectors(case):
        if connector.name == SERVED:
            for name in _OF_THE_SERVER_CONNECTOR:
                yield from _of_connector(connector, name)


def _of_connector(connector: Connector, name: str) -> Iterator[Finding]:
    place = connector.place_of(name)
    value = connector.extra_config.get(name)
    for finding in _text(name, value, place or connector.origin):
        if place is not None:
            edit = edit_at(place, str(value), "false", behind=name, change=Change.BARE)
            finding = replace(finding, edit=edit)  # noqa: PLW2901
        yield finding


def _text(name: str, value: object, origin: Origin) -> Iterator[Finding]:
    if isinstance(value, str) and value and says_no(value):
        yield _finding(Setting(name, value, origin), f"`{name}: false` without quotes")


def _finding(setting: Setting, fix: str) -> Finding:
    return Finding(
        ID,
        SEVERITY,
        f"`{setting.name}: {setting.value}` switches it on: LMCache takes any text as true",
        "what was to be off is on, and LMCache says nothing about it",
        fix,
        setting.origin,
    )
