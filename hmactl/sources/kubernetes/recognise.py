"""Whether a YAML document is a Kubernetes object."""

from hmactl.sources.node import Node


def looks_like_kubernetes(root: Node) -> bool:
    """Whether it names the version of its API and its kind, as the API server wants it."""
    version, kind = root.at(("apiVersion",)), root.at(("kind",))
    if version is None or kind is None or kind.value == "Kustomization":
        return False
    return all(isinstance(node.value, str) and node.value != "" for node in (version, kind))
