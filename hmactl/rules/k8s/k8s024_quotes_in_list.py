"""Quotes are part of a variable's value.

What: an entry in a list of `environment` has quotes behind its `=`. YAML removes quotes only where
they are around the whole entry.

Why: the program sees the quotes: a number, a path or an address with quotes is another one. LMCache
removes them from its own variables, of which this does not speak.

Failing example: `- NCCL_SOCKET_IFNAME="eth0"`.

Passing example: `- "NCCL_SOCKET_IFNAME=eth0"`, or `NCCL_SOCKET_IFNAME: "eth0"` in a mapping.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S024"
SEVERITY = Severity.WARNING
