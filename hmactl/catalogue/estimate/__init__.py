"""The KV cache plan of a model without an engine: specs, groups, block sizes, blocks and tokens.

For the kinds of attention that it knows, on NVIDIA GPUs, with answers equal to the engine's; for
everything else the answer is why it is not known. `docs/estimator.md` says what is covered.
"""

from hmactl.catalogue.estimate.plan import Estimate, estimate
from hmactl.catalogue.estimate.question import Question

__all__ = ["Estimate", "Question", "estimate"]
