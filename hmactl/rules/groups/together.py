"""Rules about several deployments of one call."""

from hmactl.rules.lmc import lmc036_same_disk
from hmactl.rules.lms import lms025_several_models
from hmactl.rules.together import RuleTogether
from hmactl.rules.top import top001_sides_differ, top002_same_engine_id

RULES: tuple[RuleTogether, ...] = (
    lmc036_same_disk,
    lms025_several_models,
    top001_sides_differ,
    top002_same_engine_id,
)
