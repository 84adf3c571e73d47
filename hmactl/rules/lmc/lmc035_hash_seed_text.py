"""Python refuses PYTHONHASHSEED.

What: PYTHONHASHSEED is `random` or a whole number from 0 to 4294967295, and nothing else.

Why: Python ends before vLLM is even imported: "PYTHONHASHSEED must be "random" or an integer in
range [0; 4294967295]".

Failing example: `env: {PYTHONHASHSEED: "'0'"}`.

Passing example: `env: {PYTHONHASHSEED: "0"}`.

Source: Python's documentation of PYTHONHASHSEED.

Since: 0.1.0.
"""

import re
from collections.abc import Iterator

from hmactl.deployment.command import serve_environment
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMC035"
SEVERITY = Severity.ERROR

_LARGEST = 2**32 - 1
# As C's strtoul reads it.
_NUMBER = re.compile(r"\s*([+-]?[0-9]+)", re.ASCII)


def check(case: Case) -> Iterator[Finding]:
    """One finding at the variable that counts."""
    deployment = case.facts.deployment
    setting = next((s for s in reversed(deployment.env) if s.name == "PYTHONHASHSEED"), None)
    if setting is None:
        return
    text = serve_environment(deployment)["PYTHONHASHSEED"]
    if text in ("", "random") or _is_seed(text):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"Python refuses `PYTHONHASHSEED: {text}`",
        "Python ends before vLLM is imported",
        '`PYTHONHASHSEED: "0"`',
        setting.origin,
    )


def _is_seed(text: str) -> bool:
    found = _NUMBER.fullmatch(text)
    return found is not None and 0 <= int(found[1]) <= _LARGEST
