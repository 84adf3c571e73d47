"""vLLM itself refuses the deployment.

What: the installed vLLM raises an error while it makes its configuration or builds the model. The
message is vLLM's own.

Why: a real start ends at the same place; the finding says how far it would have come.

Failing example: `max-model-len: 9999999` for a model with 131,072 positions.

Passing example: a length that the model has positions for.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case, Rule
from hmactl.rules.con import (
    con001_unknown,
    con003_no_children,
    con004_child_role,
    con005_child_engine_id,
    con018_old_constructor,
    con020_given_twice,
)
from hmactl.verdict.situation import first_line, refusal_of_any_plan

ID = "ENG001"
SEVERITY = Severity.ERROR

_SAY_IT_BETTER: tuple[Rule, ...] = (
    con001_unknown,
    con003_no_children,
    con004_child_role,
    con005_child_engine_id,
    con018_old_constructor,
)
# Such a rule may speak beside a refusal for quite another reason.
_SAY_THIS_BETTER: tuple[tuple[str, Rule], ...] = (
    ("Connector name is not set", con020_given_twice),
)
_WHEN = {
    "arguments": "a real start ends with a usage error",
    "config": "a real start ends within the first minute, before weights are loaded",
    "model": "a real start ends when the model is built, before weights are loaded",
    "plan": "a real start ends when the KV cache is planned, after weights were loaded",
}


def check(case: Case) -> Iterator[Finding]:
    """One finding in the engine's own words, unless another rule says the same better."""
    answer = case.facts.answer
    if answer.error is not None and answer.error.of_the_dry_boot:
        return
    refusal = refusal_of_any_plan(answer) if answer.error is None else answer.error.message
    if refusal is None:
        return
    better = [*_SAY_IT_BETTER, *(rule for part, rule in _SAY_THIS_BETTER if part in refusal)]
    if any(any(rule.check(case)) for rule in better):
        return
    stage = "plan" if answer.error is None else answer.error.stage
    evidence = next(
        (line.message for line in reversed(answer.warnings) if line.level == "error"), None
    )
    message = first_line(refusal)
    if evidence is not None and "check the logs" in refusal.lower():
        message = f"{message} ({evidence.strip().splitlines()[-1]})"
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {answer.versions.vllm} refuses the deployment: {message}",
        _WHEN[stage],
        _fix(message),
        _origin(case, message),
    )


def _origin(case: Case, message: str) -> Origin:
    """The setting that the message names; the model where it names none."""
    deployment = case.facts.deployment
    for setting in deployment.vllm:
        if setting.name.replace("-", "_") in message.replace("-", "_"):
            return setting.origin
    connector = case.facts.connector
    if connector is not None and connector.module_path and connector.module_path in message:
        return connector.origin
    return deployment.model.origin


def _fix(message: str) -> str:
    if "architecture" in message and "not supported" in message:
        return "use a vLLM version that has this architecture"
    return "change what the message names"
