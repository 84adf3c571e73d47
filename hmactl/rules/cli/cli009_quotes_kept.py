"""Quotes are part of an option's value.

What: the value of an option begins and ends with the same quote. In a list, or inside of other
quotes, nothing removes it.

Why: vLLM gets the quotes: JSON and numbers in quotes are refused, and a name or a path in quotes is
another one.

Failing example: `args: ["m", "--kv-transfer-config='{...}'"]`.

Passing example: `args: ["m", "--kv-transfer-config={...}"]`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI009"
SEVERITY = Severity.ERROR
