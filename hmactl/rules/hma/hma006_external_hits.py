"""The first hit in the connector ends this vLLM.

What: in Mamba cache mode align, vLLM up to 0.22.1 asserts that no tokens come from a connector:
"External KV connector is not verified yet". The connector loads, stores, and looks well until
something that it has stored is asked for again.

Why: the engine ends with all its requests, at the second request with the same beginning, or after
the first sleep.

Failing example: Qwen3-Next with LMCacheMPConnector and prefix caching on vLLM 0.22.1.

Passing example: the same on vLLM 0.23.0.

Source: `Scheduler._mamba_block_aligned_split` of the installed vLLM;
https://github.com/LMCache/LMCache/issues/3655, https://github.com/vllm-project/vllm/issues/45268.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.mamba import aligned_block

ID = "HMA006"
SEVERITY = Severity.ERROR

_PRODUCER = "kv_producer"


def check(case: Case) -> Iterator[Finding]:
    """One finding where a connector may have hits that the scheduler asserts away."""
    traits, connector = case.facts.answer.traits, case.facts.answer.connector
    if connector is None or traits is None or not traits.refuses_external_mamba_hits:
        return
    if aligned_block(case) is None or all(_only_sends(c.name, c.role) for c in connector.walk()):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {case.facts.answer.versions.vllm} ends at the first hit in {connector.name}: it has "
        "Mamba states in align mode",
        "the server starts, and ends when something that was stored is asked for again",
        "vLLM 0.23.0 or newer, or no connector for this model",
        case.connector_origin,
    )


def _only_sends(name: str, role: str) -> bool:
    return name == "MultiConnector" or ("Nixl" in name and role == _PRODUCER)
