"""LMCache works layer by layer, and vLLM replays whole CUDA graphs.

What: with `use_layerwise` LMCache loads and stores in hooks between the layers. A full CUDA graph
replays a step without them. vLLM falls back to graphs between the hooks only if the connector's
extra config has `use_layerwise`, by that name: it sees neither `lmcache.use_layerwise` nor what
LMCache has from its own file and variables.

Why: what the hooks should have loaded or stored may be missing, and answers may be computed from
stale KV cache.

Failing example: `lmcache: {use_layerwise: true}` and nothing else.

Passing example: the same with `vllm: {compilation-config: {cudagraph_mode: PIECEWISE}}`.

Source: `requires_piecewise_for_cudagraph` of the installed LMCacheConnectorV1;
https://github.com/vllm-project/vllm/pull/31057.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "CON012"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where the engine's effective graph mode has full graphs."""
    settings, config = in_process_settings(case), case.facts.answer.config
    if settings is None or config is None or settings.values.get("use_layerwise") is not True:
        return
    if config.enforce_eager or "FULL" not in (config.cudagraph_mode or ""):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"LMCache's `use_layerwise` with CUDA graph mode {config.cudagraph_mode}: replays of full "
        "graphs skip LMCache's hooks",
        "answers may be computed from stale KV cache",
        "`compilation-config: {cudagraph_mode: PIECEWISE}`; newer vLLM also does it by itself for "
        "`use_layerwise: true` in the connector's extra config",
        origin_of(case, "use_layerwise"),
    )
