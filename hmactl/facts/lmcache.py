"""Which of LMCache's two generations a deployment uses, and its settings' numbers."""

from hmactl.deployment.setting import Json
from hmactl.engine.answer import LMCacheSettings
from hmactl.facts.facts import Facts

IN_PROCESS = frozenset({"LMCacheConnectorV1", "LMCacheConnectorV1Dynamic"})
SERVED = "LMCacheMPConnector"


def in_process(facts: Facts) -> LMCacheSettings | None:
    """LMCache's own reading of its settings; None where no connector in the process uses them."""
    return facts.answer.lmcache if facts.connector_classes & IN_PROCESS else None


def is_served(facts: Facts) -> bool:
    """Whether an LMCache server stores for this deployment."""
    return SERVED in facts.connector_classes


def number(value: Json) -> float | None:
    """A setting's value that is a number, and nothing else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def option_number(value: Json) -> float | None:
    """What `lmcache server` would make of that value, from text too, if it is a number."""
    if not isinstance(value, str):
        return number(value)
    try:
        return float(value)
    except ValueError:
        return None
