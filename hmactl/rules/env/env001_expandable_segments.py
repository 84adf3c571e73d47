"""Expandable segments with a connector that registers GPU memory.

What: with `expandable_segments:True` PyTorch may move what is behind an address of the KV cache,
and a network card that has the memory registered goes on using the old place. vLLM refuses the
combination since 0.21.0, but only looks at `PYTORCH_CUDA_ALLOC_CONF`, not at PyTorch's new name
for it, `PYTORCH_ALLOC_CONF`.

Why: transfers fail (NIXL_ERR_REMOTE_DISCONNECT, IBV_WC_REM_ACCESS_ERR), or bring wrong data.

Failing example: `env: {PYTORCH_ALLOC_CONF: "expandable_segments:True"}` with NixlConnector.

Passing example: the same with OffloadingConnector, which copies and registers nothing.

Source: `_verify_kv_transfer_compat` in vLLM's config, 0.21.0 to 0.33.0;
https://github.com/vllm-project/vllm/issues/42404.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.connectors import connector_facts
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "ENV001"
SEVERITY = Severity.WARNING

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such variable where vLLM itself does not refuse it."""
    answer = case.facts.answer
    if answer.connector is None or answer.config is None or answer.config.sleep_mode is not False:
        return  # sleep mode has an allocator of its own for the KV cache
    moving = [c.name for c in answer.connector.walk() if _registers(c.name)]
    if not moving:
        return
    for setting in case.facts.deployment.env:
        if setting.name in _VARIABLES and "expandable_segments:true" in str(setting.value).lower():
            yield Finding(
                ID,
                SEVERITY,
                f"`{setting.name}: {setting.value}` with {' and '.join(moving)}, whose registered "
                "memory PyTorch may then move",
                "transfers fail or bring wrong data, and this vLLM does not refuse it",
                f"remove `expandable_segments:True` from `{setting.name}`",
                setting.origin,
            )


def _registers(name: str) -> bool:
    facts = connector_facts(name)
    return facts is not None and facts.purpose == "transfer"
