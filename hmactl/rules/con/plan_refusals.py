"""What a connector's refusal of a plan asks for, where that is known."""

from hmactl.deployment.form import Form
from hmactl.rules.case import Case
from hmactl.rules.wording import option_text

_CACHING = "enable-prefix-caching"
# As vLLM 0.22.1 to 0.29.0 say it, without the mode that it is in.
_NOT_ALIGNED = "mamba_cache_mode != 'align'"
_STATE_LAYOUT = "VLLM_SSM_CONV_STATE_LAYOUT"


def change(case: Case, words: str) -> str | None:
    """The setting that would satisfy the connector; None where its words name none."""
    config = case.facts.answer.config
    kept = config is not None and config.enable_prefix_caching
    if "mamba_cache_mode='none'" in words or f"--{_CACHING}" in words:
        return caching(case)
    if _NOT_ALIGNED in words and not kept:
        return caching(case)
    if "mamba_cache_mode='all'" in words:
        return option_text(case, "mamba-cache-mode", "align")
    if _STATE_LAYOUT in words:
        profile = case.facts.deployment.form is Form.PROFILE
        return f"`env: {{{_STATE_LAYOUT}: DS}}`" if profile else f"`{_STATE_LAYOUT}=DS`"
    return None


def caching(case: Case) -> str:
    """Prefix caching, which connectors that keep Mamba states need."""
    return option_text(case, _CACHING, "true")
