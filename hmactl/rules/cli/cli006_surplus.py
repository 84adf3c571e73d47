"""A word of the command belongs to no option.

What: behind `vllm serve` stands a second word that is neither an option nor an option's value.

Why: vLLM's parser ends with "unrecognized arguments". Often a line lost its backslash or a value
its quotes.

Failing example: `vllm serve m 8192`.

Passing example: `vllm serve m --max-model-len 8192`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI006"
SEVERITY = Severity.ERROR
