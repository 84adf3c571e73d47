"""LMCache's MP server and its connector: shared by the rules about them."""

from hmactl.deployment.deployment import Connector
from hmactl.facts.lmcache import SERVED
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import all_connectors

CONNECTOR = SERVED


def served_connectors(case: Case) -> tuple[Connector, ...]:
    """The connectors that talk to a server, as written."""
    return tuple(c for c in all_connectors(case) if c.name == CONNECTOR and c.module_path is None)
