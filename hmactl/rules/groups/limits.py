"""Rules about limits of the host and its containers."""

from hmactl.rules.case import Rule
from hmactl.rules.lmc import lmc010_host_memory
from hmactl.rules.lms import lms007_host_memory
from hmactl.rules.mem import (
    mem005_takes_what_is_free,
    mem006_disk,
    mem007_shared_memory,
    mem008_memlock,
)

RULES: tuple[Rule, ...] = (
    lmc010_host_memory,
    lms007_host_memory,
    mem005_takes_what_is_free,
    mem006_disk,
    mem007_shared_memory,
    mem008_memlock,
)
