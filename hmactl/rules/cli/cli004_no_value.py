"""An option stands without its value.

What: an option of `vllm serve` or `lmcache server` that takes a value is followed by another option
or by nothing.

Why: the parser ends with a usage error.

Failing example: `vllm serve m --max-model-len --enforce-eager`.

Passing example: `vllm serve m --max-model-len 8192 --enforce-eager`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI004"
SEVERITY = Severity.ERROR
