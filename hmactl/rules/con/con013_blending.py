"""LMCache's blending needs a vLLM that was changed for it.

What: `enable_blending` computes parts of the prompt with vLLM's own model, which vLLM's worker must
have registered with LMCache. No released vLLM does; LMCache's guide has one patch its worker.

Why: vLLM ends when it makes the connector: "vllm model for vllm-instance not found".

Failing example: `lmcache: {enable_blending: true}` on a released vLLM.

Passing example: the same on a vLLM whose worker was patched.

Source: `LMCBlenderBuilder.get_or_create` in LMCache, and the installed vLLM's workers;
https://github.com/LMCache/LMCache/issues/4131.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "CON013"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where blending is on and the installed workers say nothing to LMCache."""
    settings, traits = in_process_settings(case), case.facts.answer.traits
    if settings is None or settings.values.get("enable_blending") is not True:
        return
    if traits is None or traits.registers_models_with_lmcache is not False:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`enable_blending` needs vLLM's model, and the workers of vLLM "
        f"{case.facts.answer.versions.vllm} do not register it with LMCache",
        "vLLM ends when it makes the connector",
        "`enable_blending: false`, or patch vLLM's worker as LMCache's guide to blending says",
        origin_of(case, "enable_blending"),
    )
