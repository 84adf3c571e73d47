"""The model's config.json cannot be had.

What: hmactl looks for the model in this order: a local directory, the Hugging Face cache, the hub
(unless `--offline`), its own catalogue of well-known models. None of them has a usable config.

Why: without the model's config there is no plan.

Failing example: `model: ./no-such-directory`.

Passing example: `model: google/gemma-3-4b-it`, which the catalogue has.

Since: 0.1.0.
"""

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity

ID = "ENG002"
SEVERITY = Severity.ERROR


def finding(error: Exception, fix: str, origin: Origin) -> Finding:
    """The finding about a model config that could not be had."""
    return Finding(ID, SEVERITY, str(error), "the deployment cannot be planned", fix, origin)
