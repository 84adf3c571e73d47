"""The production stack's chart overrides a connector in `extraArgs`.

What: `extraArgs` has `--kv-transfer-config`, and `lmcacheConfig` is enabled.

Why: the chart writes its own `--kv-transfer-config` behind `extraArgs`, with LMCacheConnectorV1.
vLLM takes the last one.

Failing example: `extraArgs: [--kv-transfer-config, '{"kv_connector": "LMCacheMPConnector", ...}']`
with `lmcacheConfig: {enabled: true}`.

Passing example: the same with `lmcacheConfig: {enabled: false}`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S015"
SEVERITY = Severity.ERROR
