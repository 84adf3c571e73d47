"""Rules about LMCache in the vLLM process with more than host memory to store in."""

from hmactl.rules.case import Rule
from hmactl.rules.lmc import (
    lmc013_disk_without_size,
    lmc023_disk_path,
    lmc026_pd_incomplete,
    lmc028_async_loading,
    lmc029_p2p_lookup,
    lmc030_buffer_only,
    lmc031_whole_chunks_only,
    lmc033_serializer,
    lmc039_bypass_lookup,
    lmc041_chunks_of_any_size,
    lmc043_kivi,
)

RULES: tuple[Rule, ...] = (
    lmc013_disk_without_size,
    lmc023_disk_path,
    lmc026_pd_incomplete,
    lmc028_async_loading,
    lmc029_p2p_lookup,
    lmc030_buffer_only,
    lmc031_whole_chunks_only,
    lmc033_serializer,
    lmc039_bypass_lookup,
    lmc041_chunks_of_any_size,
    lmc043_kivi,
)
