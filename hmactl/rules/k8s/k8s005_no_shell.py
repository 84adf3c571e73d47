"""A variable is written as for a shell, and there is none.

What: `$NAME` or `${NAME}` stands in `command`, `args` or the value of a variable, outside of a
script behind `sh -c`, and the container has a variable of that name.

Why: Kubernetes replaces only `$(NAME)`. Unless something else replaces it before the manifest is
applied, the program gets the text `$NAME`.

Failing example: `args: [--model, $MODEL]` with `MODEL` in `env`.

Passing example: `args: [--model, $(MODEL)]`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S005"
SEVERITY = Severity.WARNING
