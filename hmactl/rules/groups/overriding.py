"""Rules about options of vLLM that decide about the connector."""

from hmactl.rules.case import Rule
from hmactl.rules.con import (
    con017_offloading_size,
    con020_given_twice,
    con021_size_counts,
    con022_backend_alone,
)
from hmactl.rules.lms import lms026_offloading_backend

RULES: tuple[Rule, ...] = (
    con017_offloading_size,
    con020_given_twice,
    con021_size_counts,
    con022_backend_alone,
    lms026_offloading_backend,
)
