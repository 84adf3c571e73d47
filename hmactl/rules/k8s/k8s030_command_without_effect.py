"""CMD has no effect beside this ENTRYPOINT.

What: ENTRYPOINT is written as a command line, for the shell, and there is a CMD.

Why: Docker runs `/bin/sh -c` with the command line, and hands CMD to that shell as `$0`, `$1` and
so on. So are the arguments of `docker run`. The server sees neither.

Failing example:

    ENTRYPOINT vllm serve
    CMD ["Qwen/Qwen3-8B"]

Passing example: `ENTRYPOINT ["vllm", "serve"]` with the same CMD.

Source: https://docs.docker.com/reference/dockerfile/#understand-how-cmd-and-entrypoint-interact.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S030"
SEVERITY = Severity.ERROR
