"""Rules about any connector."""

from hmactl.rules.case import Rule
from hmactl.rules.con import con001_unknown, con008_leaving, con009_role_without_effect
from hmactl.rules.lmc import lmc037_any_text_is_true, lmc038_placeholder
from hmactl.rules.ver import ver002_untried_pair

RULES: tuple[Rule, ...] = (
    con001_unknown,
    con008_leaving,
    con009_role_without_effect,
    lmc037_any_text_is_true,
    lmc038_placeholder,
    ver002_untried_pair,
)
