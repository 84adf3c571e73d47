"""The production stack's chart switches prefix caching off.

What: an entry of `modelSpec` has `vllmConfig`, and no `enablePrefixCaching` in it.

Why: the chart then adds `--no-enable-prefix-caching`, where vLLM by itself has prefix caching on.

Failing example: `vllmConfig: {maxModelLen: 16384}`.

Passing example: `vllmConfig: {maxModelLen: 16384, enablePrefixCaching: true}`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S011"
SEVERITY = Severity.WARNING
