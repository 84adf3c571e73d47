"""ExecStart is written for a shell.

What: ExecStart has `&&`, `|`, `>` or the like, begins with `NAME=value`, or with a command that
only a shell has, such as `source`.

Why: systemd starts no shell. vLLM gets the signs as arguments and ends with a usage error, or
systemd looks for a program of that name.

Failing example: `ExecStart=CUDA_VISIBLE_DEVICES=0 vllm serve m > /var/log/vllm.log`.

Passing example: `Environment=CUDA_VISIBLE_DEVICES=0`, `StandardOutput=append:/var/log/vllm.log` and
`ExecStart=/opt/vllm/bin/vllm serve m`; or `ExecStart=/bin/bash -c '...'`.

Source: systemd.service(5), command lines.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S032"
SEVERITY = Severity.ERROR
