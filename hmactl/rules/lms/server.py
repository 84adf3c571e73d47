"""LMCache's MP server and its connector: shared by the rules about them."""

from hmactl.deployment.deployment import Connector
from hmactl.facts.lmcache import SERVED
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import all_connectors

CONNECTOR = SERVED
OFFLOADING_BACKEND = (
    "since vLLM 0.23.0 `kv-offloading-backend: lmcache` means an LMCache MP server at "
    "localhost:5555, and the size is ignored"
)


def served_connectors(case: Case) -> tuple[Connector, ...]:
    """The connectors that talk to a server, as written."""
    return tuple(c for c in all_connectors(case) if c.name == CONNECTOR and c.module_path is None)
