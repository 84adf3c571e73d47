"""The LMCache server's shared memory does not fit into /dev/shm.

What: with `shm-name` and `supported-transfer-mode` engine_driven or auto, the LMCache server
makes its whole L1, `l1-size-gb`, a segment in /dev/shm, which vLLM's workers map. /dev/shm
(`target.shm`) is smaller; in a container it has 64 MiB unless it is told otherwise.

Why: the server finds out when it starts, and copies every transfer through pickle instead.

Failing example: `shm-name: lmcache`, `supported-transfer-mode: engine_driven` and `l1-size-gb: 60`
with `shm: 16 GiB`.

Passing example: the same with `shm: 64 GiB`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.size import format_gib
from hmactl.facts.lmcache_memory import server_memory, server_option
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "MEM007"
SEVERITY = Severity.WARNING

_MODES = ("engine_driven", "auto")


def check(case: Case) -> Iterator[Finding]:
    """One finding where L1 is to be in shared memory and that is smaller."""
    shm, size = case.facts.deployment.target.shm, server_memory(case.facts)
    name, mode = (
        server_option(case.facts, option) for option in ("shm-name", "supported-transfer-mode")
    )
    if shm is None or size is None or name is None or not name.value:
        return
    if mode is None or mode.value not in _MODES or size <= shm:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"the LMCache server's L1 of {format_gib(size)} is to be in /dev/shm, which has "
        f"{format_gib(shm)}",
        "the server goes on without shared memory: every transfer is copied through pickle",
        f"a /dev/shm of more than {format_gib(size)}, or a smaller `l1-size-gb`",
        name.origin,
    )
