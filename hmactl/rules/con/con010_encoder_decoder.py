"""Encoder-decoder models do not work with a connector.

What: vLLM's scheduler asserts that a model with cross attention has no KV connector.

Why: vLLM ends after loading the weights: "Encoder-decoder models are not currently supported with
KV connectors".

Failing example: Whisper with `connector: OffloadingConnector`.

Passing example: Whisper without a connector.

Source: `Scheduler.__init__` of the installed vLLM.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON010"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where this vLLM will not have both."""
    answer = case.facts.answer
    if answer.connector is None or answer.traits is None or answer.config is None:
        return
    if not answer.config.encoder_decoder or not answer.traits.refuses_encoder_decoder:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{answer.config.architectures[0]} is an encoder-decoder model, and vLLM "
        f"{answer.versions.vllm} has no KV connectors for those",
        "vLLM ends with an assertion after loading the weights",
        "leave the connector out",
        case.connector_origin,
    )
