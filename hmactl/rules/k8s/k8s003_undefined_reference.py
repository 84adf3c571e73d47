"""`$(NAME)` refers to nothing.

What: `command`, `args` or the value of a variable has `$(NAME)`, and the container has no variable
of that name, or, for the value of a variable, only below it. Names that the kubelet or the
controller of an object may add, such as those of services, are passed over, and so are scripts,
where `$(...)` is the shell's.

Why: Kubernetes leaves it as it is written. The program gets the text `$(NAME)`. The variables of
the image do not count.

Failing example: `args: [--model, $(MODEL)]` without `MODEL` in `env`;
`{name: URL, value: http://$(HOST)}` above `HOST`.

Passing example: the same with `MODEL` in `env`, and with `HOST` above `URL`.

Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S003"
SEVERITY = Severity.WARNING
