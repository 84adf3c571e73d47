"""Sleep mode takes the KV cache away, and this vLLM does not tell the connector.

What: while it sleeps, vLLM gives the memory of the KV cache back, and gets other memory when it
wakes up. Connectors between servers have registered the first with a network card, and
LMCacheMPConnector shares it with its server. vLLM 0.33.0 is the first to tell them. Connectors that
copy by address, like OffloadingConnector, are not concerned.

Why: transfers after waking up may fail or bring what is not there; crashes at `wake_up` were
reported, also with LMCacheConnectorV1.

Failing example: `enable-sleep-mode: true` with LMCacheConnectorV1 on vLLM 0.32.0.

Passing example: the same with OffloadingConnector, or on a vLLM that tells connectors.

Source: `unregister_kv_caches` of KVConnectorBase_V1, which the installed vLLM lacks;
https://github.com/vllm-project/vllm/issues/36753, https://github.com/vllm-project/vllm/issues/45268.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.connectors import connector_facts
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
    concerned = [c.name for c in answer.connector.walk() if _concerned(c.name)]
    if not concerned:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"sleep mode with {' and '.join(concerned)}: vLLM {answer.versions.vllm} does not tell "
        "connectors when it gives up the memory of the KV cache",
        "the server may crash at `wake_up`, or load what is no longer there",
        "leave out `enable-sleep-mode` or the connector, or use a vLLM from 0.33.0 on",
        case.flag_origin("enable-sleep-mode"),
    )


def _concerned(name: str) -> bool:
    facts = connector_facts(name)
    return name.startswith("LMCache") or (facts is not None and facts.purpose == "transfer")
