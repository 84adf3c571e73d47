"""A profile has a key that does not exist.

What: hmactl knows no such key at that place. vLLM's options belong under `vllm:`, LMCache's under
`lmcache:`.

Why: the setting would have no effect, so it is an error.

Failing example: `modell: google/gemma-3-4b-it`.

Passing example: `model: google/gemma-3-4b-it`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO004"
SEVERITY = Severity.ERROR
