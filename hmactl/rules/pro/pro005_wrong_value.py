"""A value has the wrong type or form.

What: a value is not what its key takes: text for a number, a YAML boolean for text, a version
without quotes (YAML reads `0.33` as a number), a size with a unit that does not exist.

Why: the setting is left out of the check.

Failing example: `hma: off`, which YAML reads as a boolean.

Passing example: `hma: disable`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO005"
SEVERITY = Severity.ERROR
