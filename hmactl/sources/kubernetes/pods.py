"""The pods that an object describes, whatever its kind."""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.sources.kubernetes.objects import Object, items_at, text_at
from hmactl.sources.node import Node

# They only hold text or schemas.
_WITHOUT_PODS = frozenset({"ConfigMap", "Secret", "CustomResourceDefinition"})
# Keys on the way to a pod that do not tell it from another pod of its object.
_STRUCTURE = frozenset(
    {
        *("spec", "template", "jobTemplate", "podTemplate", "podSpec", "podTemplateSpec"),
        *("predictor", "leaderWorkerTemplate", "manifest"),
    }
)
_ENDINGS = ("GroupSpecs", "GroupSpec", "TemplateSpec", "Template", "Specs", "Spec")


@dataclass(frozen=True, slots=True)
class Pod:
    """A PodSpec; ``role`` is which of its object's pods it is, such as ``leader``."""

    owner: Object
    spec: Node
    role: str | None


def pods_of(owner: Object) -> Iterator[Pod]:
    """Every mapping with a list of containers in an object, in the order of the file."""
    if owner.kind in _WITHOUT_PODS:
        return
    waiting: list[tuple[Node, str | None]] = [(owner.root, None)]
    while waiting:
        node, role = waiting.pop()
        if any(isinstance(c.value, dict) for c in items_at(node, "containers")):
            yield Pod(owner, node, role)
        following = [
            (child, _role(child, key, role))
            for key, child in node.children.items()
            if child.children and key not in {"containers", "initContainers", "status"}
        ]
        waiting += reversed(following)


def _role(node: Node, key: str | int, role: str | None) -> str | None:
    if isinstance(key, int):
        return text_at(node, "name") or text_at(node, "groupName") or role
    if key in _STRUCTURE:
        return role
    ending = next((e for e in _ENDINGS if key.endswith(e) and key != e), "")
    return key.removesuffix(ending)


def containers_of(pod: Pod) -> Iterator[Node]:
    """The containers that run side by side, sidecars among the init containers included."""
    for node in items_at(pod.spec, "initContainers"):
        if text_at(node, "restartPolicy") == "Always":
            yield node
    for node in items_at(pod.spec, "containers"):
        if isinstance(node.value, dict):
            yield node
