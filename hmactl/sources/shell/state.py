"""What a shell knows at a point of its script."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hmactl.deployment.files import TextFile
from hmactl.deployment.places import Places
from hmactl.sources.shell.value import Piece, Value

Node: TypeAlias = Any
"""A node of tree-sitter's tree, which has no type of its own where it is not installed."""

Variable: TypeAlias = "Value | list[Value]"
"""A variable's value; a list is an array."""

MOST_STATES = 8
_LARGEST = 1 << 14


@dataclass(slots=True)
class State:
    """One way in which the script may have come to this point.

    ``arguments`` are ``$1`` and so on, None where they are not known. ``assigned`` has the place of
    each variable's name where it was last assigned; ``sourced`` says that another script was read
    into this one.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    arguments: tuple[Value, ...] | None = None
    functions: dict[str, Node] = field(default_factory=dict)
    files: dict[str, TextFile] = field(default_factory=dict)
    assigned: dict[str, Places] = field(default_factory=dict)
    exports_all: bool = False
    returned: bool = False
    sourced: bool = False
    depth: int = 0

    def copy(self) -> "State":
        """One that can go another way."""
        return State(
            dict(self.variables),
            set(self.exported),
            self.arguments,
            dict(self.functions),
            dict(self.files),
            dict(self.assigned),
            self.exports_all,
            self.returned,
            self.sourced,
            self.depth,
        )

    def assign(self, name: str, value: Variable, places: Places) -> None:
        """Set a variable; one that is exported stays so. What has grown too large is not known."""
        if _size(value) > _LARGEST:
            unknown = Piece(f"${name}", places, known=False, splits=isinstance(value, list))
            value = [(unknown,)] if isinstance(value, list) else (unknown,)
        self.variables[name] = value
        self.assigned[name] = places
        if self.exports_all:
            self.exported.add(name)

    def same(self, other: "State") -> bool:
        """Whether what comes next cannot tell the two apart."""
        return (
            self.variables == other.variables
            and self.exported == other.exported
            and self.arguments == other.arguments
            and self.files == other.files
            and self.returned == other.returned
        )


def _size(value: Variable) -> int:
    """Characters and pieces in a value."""
    pieces = value if isinstance(value, tuple) else (p for item in value for p in item)
    return sum(1 + len(piece.text) for piece in pieces)


def distinct(states: Sequence[State]) -> list[State]:
    """The states without repetitions, at most MOST_STATES: the rest is merged into the last."""
    found: list[State] = []
    for state in states:
        if not any(state.same(other) for other in found):
            found.append(state)
    if len(found) <= MOST_STATES:
        return found
    return [*found[: MOST_STATES - 1], _merge(found[MOST_STATES - 1 :])]


def _merge(states: Sequence[State]) -> State:
    """What holds in all of the states; a variable in which they differ is not known."""
    merged = states[0].copy()
    for other in states[1:]:
        for name in {**merged.variables, **other.variables}:
            if merged.variables.get(name) != other.variables.get(name):
                places = merged.assigned.get(name) or other.assigned[name]
                merged.variables[name] = (Piece(f"${name}", places, known=False, needs=(name,)),)
                merged.assigned[name] = places
        merged.exported |= other.exported
        merged.files = {p: f for p, f in merged.files.items() if other.files.get(p) == f}
        if merged.arguments != other.arguments:
            merged.arguments = None
    return merged
