"""A switch is given a value.

What: an option of `vllm serve` that takes no value stands before `true`, `false` or the like, or
with `=`.

Why: vLLM's parser takes the word for a further argument, or refuses the `=`, and ends with a usage
error after 10 to 20 seconds of imports.

Failing example: `vllm serve m --enable-prefix-caching true`.

Passing example: `vllm serve m --enable-prefix-caching`, or `--no-enable-prefix-caching`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI003"
SEVERITY = Severity.ERROR
