"""Rules about HMA's own flags in a command line."""

from hmactl.rules.case import Rule
from hmactl.rules.hma import hma011_enabled_for_nothing, hma013_left_to_vllm

RULES: tuple[Rule, ...] = (
    hma011_enabled_for_nothing,
    hma013_left_to_vllm,
)
