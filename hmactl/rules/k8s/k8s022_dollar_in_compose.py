"""A `$` in a compose file begins no variable.

What: Compose replaces `$NAME` and `${NAME}` before anything else, and a `$` before something else,
such as `$(command)` or `$1`, is not allowed.

Why: Compose refuses the file: invalid interpolation format.

Failing example: `command: bash -c "vllm serve m --tensor-parallel-size $(nvidia-smi -L | wc -l)"`.

Passing example: the same with `$$(nvidia-smi -L | wc -l)`.

Source: https://docs.docker.com/reference/compose-file/interpolation/.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S022"
SEVERITY = Severity.ERROR
