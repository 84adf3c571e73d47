"""A comment looks like a suppression and is none.

What: a comment `# hmactl: ...` has no rule in brackets, names a rule that does not exist, or
stands where the form of the file has no comments: behind a value of a systemd unit or behind `ENV`
in a Dockerfile, where it is part of the value.

Why: it suppresses nothing. A comment without a rule is none on purpose: it would hide whatever the
next release finds there.

Failing example: `# hmactl: ignore`.

Passing example: `# hmactl: ignore[LMC012] one node only`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "SUP002"
SEVERITY = Severity.WARNING
