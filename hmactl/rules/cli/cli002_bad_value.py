"""vLLM's parser refuses the value of an option.

What: the option exists, its value does not parse: wrong type, not one of the choices, broken JSON.

Why: vLLM ends with a usage error after 10 to 20 seconds of imports.

Failing example: `max-model-len: lots`.

Passing example: `max-model-len: 8192`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CLI002"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each value that vLLM's parser refuses, in its own words."""
    for problem in case.facts.answer.flag_problems:
        if problem.kind != "value":
            continue
        yield Finding(
            ID,
            SEVERITY,
            f"vLLM refuses a value: {_own_words(problem.message)}",
            "`vllm serve` ends with a usage error",
            _fix(case, problem.message),
            case.nth_flag_origin(problem.index),
        )


def _fix(case: Case, message: str) -> str:
    traits = case.facts.answer.traits
    if "kv_role" in message and "specify" in message:
        return '`"kv_role": "kv_both"`, or `kv_producer` or `kv_consumer` between two servers'
    if "KVTransferConfig" in message and "keyword argument" in message and traits is not None:
        return f"remove it: this vLLM takes {', '.join(traits.transfer_fields)}"
    return "give a value that the option takes"


def _own_words(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith("For further information")]
    return ": ".join(line.split(" [type=")[0].rstrip(":") for line in kept)
