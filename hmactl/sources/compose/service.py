"""One service of a compose file, with those of the same file that it extends."""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.sources.node import Node

_MOST_BASES = 16


@dataclass(frozen=True, slots=True)
class Service:
    """``layers`` are the services that it extends, the farthest first, and itself at last.

    ``elsewhere`` is what it extends from another file, of which nothing is known.
    """

    name: str
    layers: tuple[Node, ...]
    elsewhere: Node | None = None

    def get(self, *route: str) -> Node | None:
        """The value that counts; a null is none."""
        return next(reversed([*self.each(*route)]), None)

    def each(self, *route: str) -> Iterator[Node]:
        """The values of every layer, for keys that are put together."""
        for layer in self.layers:
            node = layer.at(route)
            if node is not None and node.value is not None:
                yield node


def services(root: Node) -> Iterator[Service]:
    """The services in the order of the file."""
    found = root.at(("services",))
    if found is None or not isinstance(found.value, dict):
        return
    for name, node in found.children.items():
        if isinstance(node.value, dict):
            yield _service(str(name), node, found)


def _service(name: str, node: Node, all_services: Node) -> Service:
    layers, elsewhere, seen = [node], None, {name}
    while len(layers) < _MOST_BASES:
        extends = layers[0].at(("extends",))
        if extends is None:
            break
        base = extends if isinstance(extends.value, str) else extends.at(("service",))
        if extends.at(("file",)) is not None or base is None or str(base.value) in seen:
            elsewhere = extends
            break
        seen.add(str(base.value))
        found = all_services.at((str(base.value),))
        if found is None or not isinstance(found.value, dict):
            elsewhere = extends
            break
        layers.insert(0, found)
    return Service(name, tuple(layers), elsewhere)
