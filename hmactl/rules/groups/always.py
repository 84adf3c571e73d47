"""Rules that may concern any deployment."""

from hmactl.rules.case import Rule
from hmactl.rules.ver import ver001_known_issue

RULES: tuple[Rule, ...] = (ver001_known_issue,)
