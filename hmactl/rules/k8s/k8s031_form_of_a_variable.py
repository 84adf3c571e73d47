"""A variable has a form that systemd does not replace.

What: a word of ExecStart has `$NAME` as a part of it, or `${NAME:-default}`. systemd replaces
`${NAME}` anywhere, and `$NAME` only where it is a whole word.

Why: the program gets the text as it stands: `--port=$PORT` is no number to vLLM.

Failing example: `ExecStart=/opt/vllm/bin/vllm serve m --port=$PORT`.

Passing example: `ExecStart=/opt/vllm/bin/vllm serve m --port=${PORT}`; or, behind
`/bin/bash -c`, whatever the shell knows.

Source: systemd.service(5), command lines.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S031"
SEVERITY = Severity.ERROR
