"""A number stands in a list of words.

What: an item of `command` or `entrypoint` in a compose file is a number or a boolean to YAML.

Why: Compose refuses the file: the items must be strings.

Failing example: `command: [--port, 8000]`.

Passing example: `command: [--port, "8000"]`.

Source: the schema of compose files.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S026"
SEVERITY = Severity.ERROR
