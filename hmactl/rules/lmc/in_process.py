"""LMCache inside the vLLM process: shared by the rules about its settings."""

import json

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Area, Origin, Setting
from hmactl.engine.answer import LMCacheSettings
from hmactl.facts import lmcache
from hmactl.facts.lmcache_places import places_of
from hmactl.finding import Edit, edit_at
from hmactl.rules.case import Case

CONNECTORS = lmcache.IN_PROCESS
# Older guides set it, the installed LMCache need not read it, and it does no harm.
HARMLESS_VARIABLES = frozenset({"LMCACHE_USE_EXPERIMENTAL"})
# Settings that give LMCache a place to store besides host memory.
_OTHER_TIERS = (
    *("local_disk", "remote_url", "remote_storage_plugins", "storage_plugins"),
    *("gds_path", "maru_path", "enable_pd", "enable_p2p"),
)


def in_process_settings(case: Case) -> LMCacheSettings | None:
    """LMCache's own reading of its settings; None where no in-process connector uses them."""
    return lmcache.in_process(case.facts)


def written(case: Case, key: str) -> Setting | None:
    """Where the operator set that key: its file, `lmcache:`, a variable, a connector.

    The last one in the order in which LMCache reads them, which is the one that counts.
    """
    found = places_of(case.facts, key)
    readable = [place for place in found if place.readable]
    last = (readable or found)[-1:]
    return last[0].setting if last else None


def may_be_set(case: Case, *keys: str) -> bool:
    """Whether one of these keys may have a value that cannot be known from what was read."""
    deployment, file = case.facts.deployment, case.facts.lmcache_file
    if file is None and deployment.is_unknown(Area.ENV, "LMCACHE_CONFIG_FILE"):
        return True
    if file is not None and file.text is None:
        return True
    return any(
        deployment.is_unknown(Area.LMCACHE, key)
        or deployment.is_unknown(Area.ENV, f"LMCACHE_{key.upper()}")
        or deployment.is_unknown(Area.CONNECTOR, f"lmcache.{key}")
        for key in keys
    )


def origin_of(case: Case, key: str) -> Origin:
    """Where the operator set that key, or else chose the connector."""
    setting = written(case, key)
    return case.connector_origin if setting is None else setting.origin


def as_written(case: Case, key: str) -> str:
    """The setting as the operator has it, or as LMCache's default."""
    settings, setting = case.facts.answer.lmcache, written(case, key)
    if setting is None:
        value = None if settings is None else settings.values.get(key)
        return f"`{key}` {value} (not set in the profile)"
    value = setting.value if isinstance(setting.value, str) else json.dumps(setting.value)
    return f"`{setting.name}: {value}`"


def value_edit(case: Case, key: str, old: str, new: str | None) -> Edit | None:
    """Another value of that key; None where its place is not known, or there is no other."""
    setting = written(case, key)
    if setting is None or new is None or setting.value != old:
        return None
    return edit_at(setting.origin, old, new, behind=setting.name)


def all_connectors(case: Case) -> tuple[Connector, ...]:
    """The connector and its children, as written."""
    connector = case.facts.connector
    return () if connector is None else tuple(connector.walk())


def in_process_connectors(case: Case) -> tuple[Connector, ...]:
    """Those of LMCache in the vLLM process, as written."""
    return tuple(c for c in all_connectors(case) if c.name in CONNECTORS)


def other_tiers(settings: LMCacheSettings) -> bool:
    """Whether LMCache has a place to store besides host memory."""
    extra = settings.values.get("extra_config")
    if isinstance(extra, dict) and extra:
        return True  # plugins and storage of many kinds are configured there
    return any(settings.values.get(key) for key in _OTHER_TIERS)


def number(settings: LMCacheSettings, key: str) -> float | None:
    """A value that is a number, and nothing else."""
    return lmcache.number(settings.values.get(key))


def separate_processes(case: Case) -> bool:
    """Whether vLLM's scheduler certainly runs in another process than its workers."""
    config = case.facts.answer.config
    if config is None:
        return False
    backend = case.facts.deployment.vllm_setting("distributed-executor-backend")
    if backend is not None:
        return backend.value in {"mp", "ray"}
    # vLLM's CPU platform never runs the worker in the engine's process.
    several = config.tensor_parallel_size * config.pipeline_parallel_size > 1
    return several or case.facts.gpu is None
