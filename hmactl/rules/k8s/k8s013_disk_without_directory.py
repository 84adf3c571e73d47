"""The production stack's chart gives LMCache's disk a size and no directory.

What: `lmcacheConfig` is enabled and has `diskOffloadingBufferSize`, and `env` does not set
LMCACHE_LOCAL_DISK.

Why: the chart makes LMCACHE_MAX_LOCAL_DISK_SIZE of it and nothing else. Without a directory LMCache
has no disk store.

Failing example: `lmcacheConfig: {enabled: true, diskOffloadingBufferSize: "100"}`.

Passing example: the same with `env: [{name: LMCACHE_LOCAL_DISK, value: "file:///data/lmcache"}]`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S013"
SEVERITY = Severity.WARNING
