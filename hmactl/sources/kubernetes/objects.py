"""The objects in a stream of manifests, and those that others refer to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hmactl.sources.node import Node
from hmactl.sources.yaml_nodes import YamlDocument


@dataclass(frozen=True, slots=True)
class Object:
    """A Kubernetes object.

    ``unseen`` names what a controller adds to its containers that is not known, and the node that
    stands for it.
    """

    root: Node
    unseen: tuple[str, Node] | None = None

    @property
    def kind(self) -> str:
        """``Deployment``; empty where none is named."""
        return text_at(self.root, "kind") or ""

    @property
    def name(self) -> str:
        """Its name, or the beginning that the API server completes."""
        written = text_at(self.root, "metadata", "name")
        return written or (text_at(self.root, "metadata", "generateName") or "").rstrip("-")

    @property
    def namespace(self) -> str | None:
        """None where the manifest leaves it to whoever applies it."""
        return text_at(self.root, "metadata", "namespace")


def text_at(node: Node, *route: str | int) -> str | None:
    """The text at the end of a route; None where there is none."""
    found = node.at(route)
    return found.value if found is not None and isinstance(found.value, str) else None


def items_at(node: Node | None, *route: str | int) -> list[Node]:
    """The items of the list at the end of a route."""
    found = None if node is None else node.at(route)
    if found is None or not isinstance(found.value, list):
        return []
    return list(found.children.values())


def objects_of(documents: Iterable[YamlDocument]) -> Iterator[Object]:
    """The objects of a stream, those in lists such as ``kubectl get -o yaml`` prints included."""
    for document in documents:
        root = document.root
        if root is None or not isinstance(root.value, dict):
            continue
        inner = [item for item in items_at(root, "items") if isinstance(item.value, dict)]
        if (text_at(root, "kind") or "").endswith("List") and inner:
            yield from map(Object, inner)
        else:
            yield Object(root)


@dataclass(frozen=True, slots=True)
class Objects:
    """All objects of one input; ``source`` is its name."""

    source: str
    all: tuple[Object, ...]

    def find(self, kind: str, name: str, namespace: str | None) -> Object | None:
        """The object of that kind and name in that namespace, the last one where there are several.

        A manifest without a namespace goes where its neighbours go.
        """
        for each in reversed(self.all):
            here = None in {namespace, each.namespace} or each.namespace == namespace
            if each.kind == kind and each.name == name and here:
                return each
        return None
