"""A value of a YAML document that knows where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hmactl.deployment.places import Stretch
from hmactl.deployment.setting import Json

Route: TypeAlias = tuple[str | int, ...]


class Position(NamedTuple):
    """A place in a file: line and column, both from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """One value of a document, with its place.

    ``written`` is a scalar's text as the file has it, without quotes; ``sound`` is False where a
    finding already says that the value cannot be used; ``size`` counts the values in it;
    ``stretches`` are the places of a scalar's characters.
    """

    value: Json
    position: Position
    written: str = ""
    sound: bool = True
    size: int = 1
    keys: dict[str | int, Position] = field(default_factory=dict)
    children: "dict[str | int, Node]" = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()

    def at(self, route: Route) -> "Node | None":
        """The value at the end of a route of keys and indices, or None."""
        node: Node | None = self
        for part in route:
            if node is None:
                return None
            node = node.children.get(part)
        return node

    def value_position(self, route: Route) -> Position:
        """Where the value at the end of a route stands, or the nearest value around it."""
        while (node := self.at(route)) is None:
            route = route[:-1]
        return node.position

    def key_position(self, route: Route) -> Position:
        """Where the key at the end of a route stands; for a list's items, the item's place."""
        parent = self.at(route[:-1])
        if route and parent is not None and route[-1] in parent.keys:
            return parent.keys[route[-1]]
        return self.value_position(route)

    def unsound(self) -> Iterator[Route]:
        """Routes of the values that cannot be used."""
        waiting: list[tuple[Route, Node]] = [((), self)]
        while waiting:
            route, node = waiting.pop()
            if not node.sound:
                yield route
            waiting += [((*route, part), child) for part, child in node.children.items()]
