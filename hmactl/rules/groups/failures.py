"""Rules about what the engine, a plan or a connector's class fails with."""

from hmactl.rules.case import Rule
from hmactl.rules.con import con002_does_not_load, con018_old_constructor
from hmactl.rules.eng import eng001_refused
from hmactl.rules.mem import mem001_does_not_fit

RULES: tuple[Rule, ...] = (
    con002_does_not_load,
    con018_old_constructor,
    eng001_refused,
    mem001_does_not_fit,
)
