"""A variable is to come from a key that its ConfigMap has not.

What: `configMapKeyRef` names a ConfigMap that stands in the same input, and a key that is not in
it, without `optional: true`.

Why: the kubelet does not start the container: couldn't find key in ConfigMap.

Failing example: `configMapKeyRef: {name: common, key: chunk}` with a ConfigMap `common` that has
`chunk_size`.

Passing example: the same with `key: chunk_size`.

Source: pkg/kubelet/kubelet_pods.go of Kubernetes.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S004"
SEVERITY = Severity.ERROR
