"""Rules about LMCache's settings, wherever LMCache runs."""

from hmactl.rules.case import Rule
from hmactl.rules.lmc import lmc001_unknown_key, lmc002_unreadable_value

RULES: tuple[Rule, ...] = (
    lmc001_unknown_key,
    lmc002_unreadable_value,
)
