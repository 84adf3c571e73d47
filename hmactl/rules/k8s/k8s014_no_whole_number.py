"""The production stack's chart drops a size that is no whole number.

What: `cpuOffloadingBufferSize` is below 1, or is text that is no whole number, such as `"30Gi"`.

Why: the chart asks whether the value as an integer is above 0, which cuts a fraction and takes such
text for 0. It then sets neither LMCACHE_LOCAL_CPU nor LMCACHE_MAX_LOCAL_CPU_SIZE, so that LMCache's
own default of 5 GB for each worker stands.

Failing example: `lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: "30Gi"}`.

Passing example: `lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: "30"}`.

Source: helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack; `int` of
github.com/Masterminds/sprig.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S014"
SEVERITY = Severity.WARNING
