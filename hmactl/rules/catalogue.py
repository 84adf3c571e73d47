"""Every rule, in the order of their ids."""

from hmactl.rules.case import Rule
from hmactl.rules.cli import cli001_unknown_flag, cli002_bad_value
from hmactl.rules.con import con001_unknown, con002_does_not_load, con003_no_children
from hmactl.rules.eng import eng001_refused, eng004_other_gpu
from hmactl.rules.hma import (
    hma001_disabled,
    hma002_cannot_unify,
    hma003_keep_impossible,
    hma004_disable_impossible,
    hma005_engine_disables,
)
from hmactl.rules.lmc import (
    lmc001_unknown_key,
    lmc002_unreadable_value,
    lmc003_dead_settings,
    lmc004_chunk_size,
    lmc005_misspelt_variable,
    lmc006_unread_variable,
    lmc007_unknown_extra_key,
    lmc008_read_as_false,
    lmc009_hash_seed,
    lmc010_host_memory,
    lmc011_longest_request,
    lmc012_no_buffer,
    lmc013_disk_without_size,
    lmc014_refused,
    lmc015_stores_nowhere,
)
from hmactl.rules.lms import (
    lms001_chunk_size,
    lms002_unknown_key,
    lms003_unknown_option,
    lms004_missing_option,
    lms005_address,
    lms006_other_port,
    lms007_host_memory,
)
from hmactl.rules.mem import mem001_does_not_fit, mem002_may_not_fit, mem003_weights_too_large

RULES: tuple[Rule, ...] = (
    cli001_unknown_flag,
    cli002_bad_value,
    con001_unknown,
    con002_does_not_load,
    con003_no_children,
    eng001_refused,
    eng004_other_gpu,
    hma001_disabled,
    hma002_cannot_unify,
    hma003_keep_impossible,
    hma004_disable_impossible,
    hma005_engine_disables,
    lmc001_unknown_key,
    lmc002_unreadable_value,
    lmc003_dead_settings,
    lmc004_chunk_size,
    lmc005_misspelt_variable,
    lmc006_unread_variable,
    lmc007_unknown_extra_key,
    lmc008_read_as_false,
    lmc009_hash_seed,
    lmc010_host_memory,
    lmc011_longest_request,
    lmc012_no_buffer,
    lmc013_disk_without_size,
    lmc014_refused,
    lmc015_stores_nowhere,
    lms001_chunk_size,
    lms002_unknown_key,
    lms003_unknown_option,
    lms004_missing_option,
    lms005_address,
    lms006_other_port,
    lms007_host_memory,
    mem001_does_not_fit,
    mem002_may_not_fit,
    mem003_weights_too_large,
)
