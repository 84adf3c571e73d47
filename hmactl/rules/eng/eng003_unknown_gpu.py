"""The GPU is not in the catalogue.

What: `target.gpu` or `--gpu` names a GPU whose properties hmactl does not know, or this machine has
one and its driver cannot be asked.

Why: the engine chooses block sizes, attention backends and batch sizes by the GPU; hmactl does not
guess them.

Failing example: `gpu: H1000`.

Passing example: `gpu: H100-80GB`, or `gpu: cpu` for the plain CPU platform.

Since: 0.1.0.
"""

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity

ID = "ENG003"
SEVERITY = Severity.ERROR


def finding(error: Exception, origin: Origin) -> Finding:
    """The finding about a GPU that is not known."""
    return Finding(
        ID,
        SEVERITY,
        str(error),
        "the deployment cannot be planned",
        "name a GPU that `hmactl gpus` lists, or `cpu` for what does not depend on the GPU",
        origin,
    )
