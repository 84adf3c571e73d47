"""A profile cannot be read.

What: the file is missing, a directory, no regular file, empty, not UTF-8 text, or larger than
1 MiB.

Why: there is nothing to check.

Failing example: `hmactl check no-such-file.yaml`.

Passing example: `hmactl check profiles/gemma-3-4b-lmcache.yaml`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO001"
SEVERITY = Severity.ERROR
