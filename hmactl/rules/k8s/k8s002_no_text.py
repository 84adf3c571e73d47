"""A number or a boolean stands where Kubernetes wants text.

What: the `value` of a variable, or an item of `command` or `args`, is a number or a boolean to
YAML.

Why: the API server refuses the object: cannot unmarshal number into Go struct field of type string.

Failing example: `{name: LMCACHE_CHUNK_SIZE, value: 256}`, `args: [--port, 8000]`.

Passing example: `{name: LMCACHE_CHUNK_SIZE, value: "256"}`, `args: [--port, "8000"]`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S002"
SEVERITY = Severity.ERROR
