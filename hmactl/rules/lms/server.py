"""LMCache's MP server and its connector: shared by the rules about them."""

from hmactl.deployment.deployment import Connector, LMCacheServer
from hmactl.deployment.setting import Json, Setting
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import all_connectors

CONNECTOR = "LMCacheMPConnector"


def served_connectors(case: Case) -> tuple[Connector, ...]:
    """The connectors that talk to a server, as written."""
    return tuple(c for c in all_connectors(case) if c.name == CONNECTOR and c.module_path is None)


def option(server: LMCacheServer, name: str) -> Setting | None:
    """The last setting of that option."""
    return next((s for s in reversed(server.options) if s.name == name), None)


def number(value: Json) -> float | None:
    """What `lmcache server` would make of that text, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
