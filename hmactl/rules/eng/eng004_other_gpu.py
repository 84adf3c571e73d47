"""This machine's GPU differs from what the catalogue has under its name.

What: the driver reports another compute capability, SM count or memory than hmactl's catalogue has
for a GPU of that name. The driver's figures are used.

Why: a slice of a GPU (MIG), another memory size under the same name or ECC explain it; then a plan
that was made elsewhere with `target.gpu` of that name is not this machine's.

Failing example: an H100 of which a MIG slice with 39 GiB is visible.

Passing example: a whole H100, whose memory differs from the catalogue's by a hundredth.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.gpus import Gpu, UnknownGpuError, find_gpu
from hmactl.deployment.setting import DEFAULT
from hmactl.deployment.size import format_gib
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "ENG004"
SEVERITY = Severity.INFO

# Drivers of different years differ by less.
_SAME_MEMORY = 0.02


def check(case: Case) -> Iterator[Finding]:
    """One finding where a real GPU was asked and the catalogue knows its name otherwise."""
    real = case.facts.gpu
    if real is None or not real.of_this_machine:
        return
    try:
        listed = find_gpu(real.name)
    except UnknownGpuError:
        return
    if listed is None or not (differences := list(_differences(real, listed))):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"this machine's {real.name} has {'; '.join(differences)}",
        f"the plan is this machine's; one for `gpu: {listed.id}` differs from it",
        f"none is needed if that is intended; `--gpu {listed.id}` plans for the catalogue's",
        DEFAULT,
    )


def _differences(real: Gpu, listed: Gpu) -> Iterator[str]:
    if real.capability != listed.capability:
        mine, theirs = (".".join(map(str, g.capability)) for g in (real, listed))
        yield f"compute capability {mine}, and the catalogue says {theirs}"
    if real.sm_count != listed.sm_count:
        yield f"{real.sm_count} SMs, and the catalogue says {listed.sm_count}"
    if abs(real.usable_memory - listed.usable_memory) > _SAME_MEMORY * listed.usable_memory:
        mine, theirs = format_gib(real.usable_memory), format_gib(listed.usable_memory)
        yield f"{mine} of memory, and the catalogue says {theirs}"
