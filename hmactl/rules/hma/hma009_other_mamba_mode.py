"""vLLM uses another Mamba cache mode than the one that was asked for.

What: `mamba-cache-mode: all` is for models whose kernels can keep every block's state; for others
vLLM goes back to align. Without prefix caching every mode becomes none.

Why: what a connector can store and find depends on the mode: align finds less than all, and none
finds nothing.

Failing example: Qwen3-Next with `mamba-cache-mode: align` and `enable-prefix-caching: false`.

Passing example: Qwen3-Next with `mamba-cache-mode: align` and prefix caching.

Source: the installed vLLM's own configuration;
https://github.com/vllm-project/vllm/issues/51250.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "HMA009"
SEVERITY = Severity.WARNING

_FLAG = "mamba-cache-mode"


def check(case: Case) -> Iterator[Finding]:
    """One finding where the effective mode is another; models without such states do not count."""
    setting, config = case.facts.deployment.vllm_setting(_FLAG), case.facts.answer.config
    kinds = {layer.spec for stage in case.facts.answer.layers for layer in stage}
    if setting is None or config is None or "MambaSpec" not in kinds:
        return
    if config.mamba_cache_mode is None or config.mamba_cache_mode == setting.value:
        return
    if setting.value == "auto":
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{_FLAG}: {setting.value}` becomes `{config.mamba_cache_mode}` with this model and these "
        "settings",
        "cached prefixes are found at fewer places, or not at all",
        "`enable-prefix-caching: true`"
        if not config.enable_prefix_caching
        else f"`{_FLAG}: {config.mamba_cache_mode}`, which is what happens",
        setting.origin,
    )
