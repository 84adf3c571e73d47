"""Rules about an LMCache server and the connector that talks to it."""

from hmactl.rules.case import Rule
from hmactl.rules.lms import (
    lms001_chunk_size,
    lms002_unknown_key,
    lms003_unknown_option,
    lms004_missing_option,
    lms005_address,
    lms006_other_port,
    lms021_kind_of_server,
    lms022_not_local,
    lms023_value,
    lms027_turboquant_layout,
    lms028_other_release,
)

RULES: tuple[Rule, ...] = (
    lms001_chunk_size,
    lms002_unknown_key,
    lms003_unknown_option,
    lms004_missing_option,
    lms005_address,
    lms006_other_port,
    lms021_kind_of_server,
    lms022_not_local,
    lms023_value,
    lms027_turboquant_layout,
    lms028_other_release,
)
