"""ExecStart names its program by a relative path.

What: the first word of ExecStart has a `/` and does not begin with one: `./venv/bin/vllm`, `~/...`,
`$HOME/...`.

Why: systemd does not load the unit: neither a valid executable name nor an absolute path.

Failing example: `ExecStart=~/venv/bin/vllm serve m`.

Passing example: `ExecStart=%h/venv/bin/vllm serve m`, or the path from `/` on.

Source: systemd.service(5), command lines.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S034"
SEVERITY = Severity.ERROR
