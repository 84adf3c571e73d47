"""A profile is not YAML.

What: the text breaks the rules of YAML at the line and column given; a tab as indentation is the
most common case.

Why: what comes after that place is not read.

Failing example: a line that is indented with a tab.

Passing example: the same line indented with spaces.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO002"
SEVERITY = Severity.ERROR
