"""Sleep mode takes the KV cache away, and this vLLM does not tell the connector.

What: while it sleeps, vLLM gives the memory of the KV cache back, and gets other memory when it
wakes up. Connectors have registered the first. vLLM 0.33.0 is the first to tell them.

Why: transfers after waking up may fail or bring what is not there; crashes at `wake_up` were
reported.

Failing example: `enable-sleep-mode: true` with LMCacheConnectorV1 on vLLM 0.32.0.

Passing example: the same without a connector, or on a vLLM that tells connectors.

Source: `unregister_kv_caches` of KVConnectorBase_V1, which the installed vLLM lacks;
https://github.com/vllm-project/vllm/issues/36753, https://github.com/vllm-project/vllm/issues/45268.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON016"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where both are on and the installed vLLM has no such call."""
    answer = case.facts.answer
    if answer.connector is None or answer.config is None or not answer.config.sleep_mode:
        return
    if answer.traits is None or answer.traits.tells_connectors_of_sleep is not False:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"sleep mode with {answer.connector.name}: vLLM {answer.versions.vllm} does not tell "
        "connectors when it gives up the memory of the KV cache",
        "the server may crash at `wake_up`, or load what is no longer there",
        "leave out `enable-sleep-mode` or the connector, or use a vLLM from 0.33.0 on",
        case.flag_origin("enable-sleep-mode"),
    )
