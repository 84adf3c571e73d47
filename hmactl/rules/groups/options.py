"""Rules about options that vLLM does not take."""

from hmactl.rules.case import Rule
from hmactl.rules.cli import cli001_unknown_flag, cli002_bad_value

RULES: tuple[Rule, ...] = (
    cli001_unknown_flag,
    cli002_bad_value,
)
