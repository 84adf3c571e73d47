"""Telling a compose file by its content."""

from hmactl.sources.node import Node

_OF_A_SERVICE = frozenset({"image", "build", "command", "entrypoint", "extends", "container_name"})


def looks_like_compose(root: Node) -> bool:
    """Whether a YAML document is a compose file."""
    found = root.at(("services",))
    if found is None or not isinstance(found.value, dict) or "apiVersion" in root.children:
        return False
    return any(not _OF_A_SERVICE.isdisjoint(node.children) for node in found.children.values())
