"""What a pod says about the machine that it runs on."""

from collections.abc import Iterator

from hmactl.catalogue.gpus import UnknownGpuError, find_gpu
from hmactl.deployment.setting import DEFAULT, Origin
from hmactl.sources.container.gpus import number
from hmactl.sources.kubernetes.objects import items_at, text_at
from hmactl.sources.kubernetes.pods import Pod
from hmactl.sources.kubernetes.quantity import quantity
from hmactl.sources.node import Node

GPUS = "nvidia.com/gpu"
# Labels of nodes that tell the GPU: NVIDIA's operator, clouds, and machine types.
_LABELS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "karpenter.k8s.aws/instance-gpu-name",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)


def gpu_of(source: str, pod: Pod) -> tuple[str | None, Origin]:
    """The GPU that the pod's nodes are selected by, where the catalogue knows it."""
    wanted = dict(_required(pod))
    for label in _LABELS:
        node = wanted.get(label)
        if node is not None and isinstance(node.value, str) and _is_known(node.value):
            return node.value, Origin(source, *node.position)
    return None, DEFAULT


def _required(pod: Pod) -> Iterator[tuple[str, Node]]:
    """Labels that every node of the pod has, each with its only value."""
    selector = pod.spec.at(("nodeSelector",))
    if selector is not None and isinstance(selector.value, dict):
        yield from ((str(key), node) for key, node in selector.children.items())
    terms = items_at(
        pod.spec,
        *("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
        "nodeSelectorTerms",
    )
    # Several terms are alternatives.
    for expression in items_at(terms[0], "matchExpressions") if len(terms) == 1 else ():
        values = items_at(expression, "values")
        if text_at(expression, "operator") == "In" and len(values) == 1:
            yield text_at(expression, "key") or "", values[0]


def _is_known(name: str) -> bool:
    try:
        return find_gpu(name) is not None
    except UnknownGpuError:
        return False


def gpus_of(container: Node) -> int | None:
    """How many whole GPUs the container gets; None where it asks for none."""
    for part in ("limits", "requests"):
        node = container.at(("resources", part, GPUS))
        if node is not None and node.value is not None:
            return number(node.written)
    return None


def limit_of(container: Node, resource: str) -> int | None:
    """A limit of the container in bytes; None where there is none."""
    node = container.at(("resources", "limits", resource))
    return None if node is None or node.children else quantity(node.written)
