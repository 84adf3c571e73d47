"""A comment suppresses nothing.

What: a comment `# hmactl: ignore[...]` names a rule that has no finding at that place.

Why: what it was written for is gone, or it stands at another line than the finding. It would hide
the next finding of that rule there, which nobody has seen.

Failing example: `# hmactl: ignore[LMC012] one node only` above a line without that finding.

Passing example: the comment is removed; or it stands at the end of the line that the finding names,
or alone on the line above.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "SUP001"
SEVERITY = Severity.INFO
