"""A variable that vLLM or LMCache no longer reads.

What: older guides set variables that the installed releases do not have any more.

Why: nothing happens, and nothing says so, although something was wanted.

Failing example: `env: {VLLM_ATTENTION_BACKEND: FLASHINFER}` on vLLM 0.32.0.

Passing example: `vllm: {attention-backend: FLASHINFER}`.

Source: `vllm.envs` of the installed vLLM and the source of the installed LMCache;
https://github.com/vllm-project/vllm/pull/45762.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "ENV002"
SEVERITY = Severity.INFO

_INSTEAD = {
    "VLLM_ATTENTION_BACKEND": "vLLM's option `attention-backend` says it now",
    "VLLM_USE_V1": "remove it: there is only one engine now",
    "LMCACHE_USE_EXPERIMENTAL": "remove it: what it switched on is the only LMCache now",
}
_OF_LMCACHE = "LMCACHE_"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each variable that was read once and is not any more."""
    for setting in case.facts.deployment.env:
        if setting.name in _INSTEAD and _gone(case, setting.name):
            yield Finding(
                ID,
                SEVERITY,
                f"nothing reads `{setting.name}` any more",
                "it has no effect, and nothing says so",
                _INSTEAD[setting.name],
                setting.origin,
            )


def _gone(case: Case, name: str) -> bool:
    answer = case.facts.answer
    if name.startswith(_OF_LMCACHE):
        return answer.lmcache is not None and name in answer.lmcache.unknown
    traits = answer.traits
    return traits is not None and bool(traits.variables) and name not in traits.variables
