"""Rules about HMA that is disabled."""

from hmactl.rules.case import Rule
from hmactl.rules.hma import hma001_disabled, hma005_engine_disables

RULES: tuple[Rule, ...] = (
    hma001_disabled,
    hma005_engine_disables,
)
