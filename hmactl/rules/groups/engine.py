"""Rules about what only an engine or this machine says."""

from hmactl.rules.case import Rule
from hmactl.rules.con import (
    con010_encoder_decoder,
    con012_layerwise_graphs,
    con013_blending,
    con014_refuses_plan,
    con015_failed_load,
    con016_sleep_mode,
)
from hmactl.rules.eng import eng004_other_gpu
from hmactl.rules.env import env001_expandable_segments
from hmactl.rules.hma import (
    hma006_external_hits,
    hma007_block_over_budget,
    hma008_one_prompt_a_step,
    hma009_other_mamba_mode,
    hma010_short_prompts,
)
from hmactl.rules.lmc import (
    lmc003_dead_settings,
    lmc009_hash_seed,
    lmc011_longest_request,
    lmc022_remote_store,
    lmc032_never_a_chunk,
    lmc040_worker_ports,
    lmc042_serializer_of_fp8,
)
from hmactl.rules.lms import lms020_refused, lms024_fp8_serializer
from hmactl.rules.mem import (
    mem002_may_not_fit,
    mem003_weights_too_large,
    mem004_server_longest_request,
    mem009_cache_too_large,
)
from hmactl.rules.top import top003_spans_hosts, top004_port_for_each_rank, top005_several_servers
from hmactl.rules.ver import ver003_operations

RULES: tuple[Rule, ...] = (
    con010_encoder_decoder,
    con012_layerwise_graphs,
    con013_blending,
    con014_refuses_plan,
    con015_failed_load,
    con016_sleep_mode,
    eng004_other_gpu,
    env001_expandable_segments,
    hma006_external_hits,
    hma007_block_over_budget,
    hma008_one_prompt_a_step,
    hma009_other_mamba_mode,
    hma010_short_prompts,
    lmc003_dead_settings,
    lmc009_hash_seed,
    lmc011_longest_request,
    lmc022_remote_store,
    lmc032_never_a_chunk,
    lmc040_worker_ports,
    lmc042_serializer_of_fp8,
    lms020_refused,
    lms024_fp8_serializer,
    mem002_may_not_fit,
    mem003_weights_too_large,
    mem004_server_longest_request,
    mem009_cache_too_large,
    top003_spans_hosts,
    top004_port_for_each_rank,
    top005_several_servers,
    ver003_operations,
)
