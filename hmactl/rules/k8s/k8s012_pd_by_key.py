"""`enablePD: false` in the production stack's values is as good as true in one place.

What: `lmcacheConfig` is enabled and has the key `enablePD` with a value that is false.

Why: for `--kv-transfer-config` the chart only looks whether the key is there, and writes the form
for prefill and decode: `discard_partial_chunks: false` and an `lmcache_rpc_port` from `nixlRole`,
which is empty without it. For everything else it looks at the value.

Failing example: `lmcacheConfig: {enabled: true, enablePD: false}`.

Passing example: `lmcacheConfig: {enabled: true}`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S012"
SEVERITY = Severity.WARNING
