"""Nodes that stand in no file as they are, because something else makes them of what does."""

from collections.abc import Iterable, Mapping

from hmactl.sources.node import Node, Position


def scalar(text: str, at: Node) -> Node:
    """Text that something makes of the value ``at``, in its place."""
    if isinstance(at.value, str) and at.value == text:
        return at
    return Node(text, at.position, text)


def mapping(children: Mapping[str, Node | None], at: Node) -> Node:
    """A mapping; what is None is left out."""
    found: dict[str | int, Node] = {k: node for k, node in children.items() if node is not None}
    keys: dict[str | int, Position] = {key: node.position for key, node in found.items()}
    return Node({}, at.position, keys=keys, children=found)


def sequence(items: Iterable[Node], at: Node) -> Node:
    """A list."""
    return Node([], at.position, children=dict(enumerate(items)))
