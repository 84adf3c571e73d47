"""A backslash is to join the lines of a compose command.

What: `command` or `entrypoint` is one string over several lines, whose lines end with a backslash
as in a shell.

Why: Compose splits the string itself. To it a backslash takes the next character as it is, so that
the line's end becomes part of an argument: vLLM gets a blank as a model or as a further argument,
and ends with a usage error. Behind `sh -c` the backslash is lost, and the command ends there.

Failing example:

    command: >
      --model Qwen/Qwen3-8B \\
      --enforce-eager

Passing example: the same without the backslash.

Source: github.com/mattn/go-shellwords, which Compose splits commands with.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S021"
SEVERITY = Severity.ERROR
