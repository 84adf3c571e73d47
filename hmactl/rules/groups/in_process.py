"""Rules about LMCache in the vLLM process."""

from hmactl.rules.case import Rule
from hmactl.rules.con import con011_layers_differ
from hmactl.rules.lmc import (
    lmc004_chunk_size,
    lmc007_unknown_extra_key,
    lmc008_read_as_false,
    lmc012_no_buffer,
    lmc014_refused,
    lmc015_stores_nowhere,
    lmc020_quotes_kept,
    lmc021_word_for_nothing,
    lmc024_no_such_choice,
    lmc025_out_of_range,
    lmc027_switched_off,
    lmc034_hash_fallback,
)

RULES: tuple[Rule, ...] = (
    con011_layers_differ,
    lmc004_chunk_size,
    lmc007_unknown_extra_key,
    lmc008_read_as_false,
    lmc012_no_buffer,
    lmc014_refused,
    lmc015_stores_nowhere,
    lmc020_quotes_kept,
    lmc021_word_for_nothing,
    lmc024_no_such_choice,
    lmc025_out_of_range,
    lmc027_switched_off,
    lmc034_hash_fallback,
)
