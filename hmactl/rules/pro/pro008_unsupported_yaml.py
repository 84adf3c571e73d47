"""A profile uses YAML that is not read.

What: nesting deeper than 64 levels, aliases that multiply, more than 50,000 values, or tags such as
`!!python/object`.

Why: such text is not needed for a deployment and can exhaust the machine that reads it; tags could
run code and are never followed.

Failing example: `model: !!python/object:os.system x`.

Passing example: `model: x`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO008"
SEVERITY = Severity.ERROR
