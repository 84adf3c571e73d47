r"""A line of options stands behind the end of its command.

What: a line of a shell script begins with an option such as `--max-model-len`, but the command
above it has ended: a line before it lacks its backslash, has a blank behind the backslash, or a
comment stands between the lines.

Why: the shell takes the line for a program of that name. The server starts without these options
and everything below them, and the only sign is "command not found" among its first lines.

Failing example: `vllm serve m \`, then `  # longer prompts`, then `  --max-model-len 8192`.

Passing example: the comment stands above `vllm serve m \`.

Source: bash's manual on comments and on quoting.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI007"
SEVERITY = Severity.ERROR
