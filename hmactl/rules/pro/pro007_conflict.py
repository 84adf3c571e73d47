"""Two settings contradict each other, or one belongs elsewhere.

What: the same thing is set in two places: the connector as `connector:` and as
`vllm: kv-transfer-config:`, HMA as `hma:` and as a vLLM flag, an LMCache key under `lmcache:` and
in `env:`.

Why: only one of them would take effect, and which one is not obvious.

Failing example: `vllm: {disable-hybrid-kv-cache-manager: true}`.

Passing example: `hma: disable`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "PRO007"
SEVERITY = Severity.ERROR
