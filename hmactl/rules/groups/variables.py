"""Rules about the environment of a deployment."""

from hmactl.rules.case import Rule
from hmactl.rules.env import env002_former_variable, env004_visible_devices
from hmactl.rules.lmc import lmc005_misspelt_variable, lmc006_unread_variable, lmc035_hash_seed_text

RULES: tuple[Rule, ...] = (
    env002_former_variable,
    env004_visible_devices,
    lmc005_misspelt_variable,
    lmc006_unread_variable,
    lmc035_hash_seed_text,
)
