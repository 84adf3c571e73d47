"""A variable is set in a shell script and not exported.

What: a script sets a variable that vLLM, LMCache or a library of theirs reads, on a line of its
own, without `export`, and uses it nowhere itself.

Why: it stays in the shell. The server does not see it, runs with the default, and says nothing.

Failing example: `LMCACHE_CHUNK_SIZE=512` on a line above `vllm serve ...`.

Passing example: `export LMCACHE_CHUNK_SIZE=512`, or the assignment in front of the command on its
own line: `LMCACHE_CHUNK_SIZE=512 vllm serve ...`.

Source: bash's manual on the environment.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "ENV003"
SEVERITY = Severity.ERROR
