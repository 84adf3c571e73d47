"""vLLM's parser refuses the value of an option.

What: the option exists, its value does not parse: wrong type, not one of the choices, broken JSON,
or text such as `"true"` for a switch, which takes no value.

Why: vLLM ends with a usage error after 10 to 20 seconds of imports.

Failing example: `max-model-len: lots`.

Passing example: `max-model-len: 8192`.

Since: 0.1.0.
"""

import difflib
from collections.abc import Iterator

from hmactl.catalogue.flags import vllm_flags
from hmactl.finding import Change, Edit, Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.misspelt import meant

ID = "CLI002"
SEVERITY = Severity.ERROR

_WORDS = dict.fromkeys(("true", "yes", "on", "1"), "true")
_WORDS |= dict.fromkeys(("false", "no", "off", "0"), "false")


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
            _edit(case, problem.index),
        )


def _fix(case: Case, message: str) -> str:
    traits = case.facts.answer.traits
    if "kv_role" in message and "specify" in message:
        return '`"kv_role": "kv_both"`, or `kv_producer` or `kv_consumer` between two servers'
    if "KVTransferConfig" in message and "keyword argument" in message and traits is not None:
        return f"remove it: this vLLM takes {', '.join(traits.transfer_fields)}"
    if "takes no value" in message or "unrecognized arguments" in message:
        return "`true` or `false` without quotes, or the option by itself"
    return "give a value that the option takes"


def _edit(case: Case, index: int) -> Edit | None:
    """A switch with its word as a word, or the choice that was meant."""
    written = case.facts.deployment.vllm[index : index + 1]
    flags = vllm_flags(case.facts.answer.versions.vllm or None)
    flag = flags.find(f"--{written[0].name}") if written else None
    if flag is None or not isinstance(written[0].value, str):
        return None
    name, value, origin = written[0].name, written[0].value, written[0].origin
    if flag.takes == "nothing":
        word = _WORDS.get(value.lower())
        if word is None:
            return None
        return edit_at(origin, value, word, behind=name, change=Change.BARE)
    near = difflib.get_close_matches(value, flag.choices, 2, 0.6)
    right = meant(value, near, ())
    return None if right is None else edit_at(origin, value, right, behind=name)


def _own_words(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith("For further information")]
    return ": ".join(line.split(" [type=")[0].rstrip(":") for line in kept)
