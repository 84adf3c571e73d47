"""LMCache in the vLLM process takes all layers for alike, and they are not.

What: the transfer between the GPU and LMCache in the vLLM process knows one number of layers and
one size of a token's KV cache in a layer. Models whose layers have different heads (Gemma 4), or
an indexer with a cache of its own beside each layer (DeepSeek V3.2, GLM 5), do not fit in there.

Why: vLLM ends at the first request that is stored ("could not broadcast input array"), or what
comes back is garbage.

Failing example: `connector: LMCacheConnectorV1` with DeepSeek-V3.2.

Passing example: `connector: LMCacheMPConnector` with DeepSeek-V3.2.

Source: `VLLMPagedMemGPUConnectorV2` in LMCache's gpu_connectors.py;
https://github.com/LMCache/LMCache/issues/5002, https://github.com/LMCache/LMCache/issues/2881.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.engine.answer import LayerKind
from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings
from hmactl.rules.wording import connector_text

ID = "CON011"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the layers of one worker differ in what a token takes."""
    settings = in_process_settings(case)
    # On a CPU, and with the third connector, LMCache goes another way.
    if settings is None or case.facts.gpu is None or settings.values.get("use_gpu_connector_v3"):
        return
    for stage in case.facts.answer.layers:
        sizes = {size for layer in stage if (size := _size(layer)) is not None}
        if len({heads * size for heads, size in sizes}) < 2:
            continue
        listed = " and ".join(f"{heads} x {size}" for heads, size in sorted(sizes))
        yield Finding(
            ID,
            SEVERITY,
            f"the layers of this model differ (heads x size {listed}), and LMCache in the vLLM "
            "process takes them for alike",
            "vLLM ends when the first request is stored, or answers become garbage",
            f"{connector_text(case, SERVED)}, which keeps kinds of layers apart",
            case.connector_origin,
        )
        return


def _size(layer: LayerKind) -> tuple[int, int] | None:
    extra = layer.further
    heads, size = extra.get("num_kv_heads"), extra.get("head_size")
    return (heads, size) if isinstance(heads, int) and isinstance(size, int) else None
