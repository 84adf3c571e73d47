"""A key is given twice.

What: one mapping has the same key twice, or one vLLM option in both spellings (`max-model-len` and
`max_model_len`).

Why: YAML keeps the last one silently; which one was meant is anybody's guess.

Failing example: `hma: auto` and, further down, `hma: keep`.

Passing example: `hma: keep` once.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO003"
SEVERITY = Severity.ERROR
