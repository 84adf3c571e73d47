"""A profile lacks a key that it must have.

What: a deployment needs a `model`, and a connector that is written as a mapping needs a `name`.

Why: without them there is nothing to check.

Failing example: `connector: {role: kv_both}`.

Passing example: `connector: {name: NixlConnector, role: kv_both}`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO006"
SEVERITY = Severity.ERROR
