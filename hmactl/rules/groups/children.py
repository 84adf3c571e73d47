"""Rules about MultiConnector and its children."""

from hmactl.rules.case import Rule
from hmactl.rules.con import (
    con003_no_children,
    con004_child_role,
    con005_child_engine_id,
    con006_not_inherited,
)

RULES: tuple[Rule, ...] = (
    con003_no_children,
    con004_child_role,
    con005_child_engine_id,
    con006_not_inherited,
)
