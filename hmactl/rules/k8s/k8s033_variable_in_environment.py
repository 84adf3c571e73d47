"""A variable in a unit's Environment is not replaced.

What: `Environment=` has `$NAME` or `${NAME}` in a value. systemd takes it as text.

Why: in a search path it is a directory of that name, and the directories that were meant are
missing: the compilers and libraries that vLLM looks for are not found.

Failing example: `Environment="PATH=/opt/vllm/bin:$PATH"`.

Passing example: `Environment="PATH=/opt/vllm/bin:/usr/local/bin:/usr/bin:/bin"`.

Source: systemd.exec(5), Environment.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S033"
SEVERITY = Severity.WARNING
