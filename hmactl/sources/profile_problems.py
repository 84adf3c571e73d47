"""What is wrong with one profile document, and which parts of it cannot be used."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hmactl.deployment.setting import Json, Origin
from hmactl.finding import Edit, Finding, Severity, edit_at
from hmactl.sources.node import Node, Position, Route
from hmactl.sources.wording import shortened

NOT_USED = "the value is left out of all other checks, and nothing starts until it is corrected"
_OPEN_SECTIONS = {"vllm", "lmcache", "lmcache_server", "env"}


@dataclass(slots=True)
class Problems:
    """Findings about a document, and the routes of what further checks have to do without."""

    source: str
    root: Node
    findings: list[Finding] = field(default_factory=list)
    dropped: set[Route] = field(default_factory=set)

    def origin(self, position: Position) -> Origin:
        return Origin(self.source, *position)

    def at_key(
        self,
        rule: str,
        route: Route,
        message: str,
        *,
        consequence: str,
        fix: str,
        instead: str | None = None,
    ) -> None:
        """An error about a key; its setting is dropped. ``instead`` is the key that is meant."""
        position = self.root.key_position(route)
        edit = None
        if instead is not None:
            edit = edit_at(self.origin(position), str(route[-1]), instead)
        self._error(rule, position, message, consequence, fix, edit=edit)
        self.drop(route)

    def at_value(
        self, rule: str, route: Route, message: str, *, consequence: str, fix: str
    ) -> None:
        """An error about a value; its setting is dropped."""
        self._error(rule, self.root.value_position(route), message, consequence, fix)
        self.drop(route)

    def warn_at_value(
        self, rule: str, route: Route, message: str, *, consequence: str, fix: str
    ) -> None:
        """A warning about a value, which stays."""
        origin = self.origin(self.root.value_position(route))
        self.findings.append(Finding(rule, Severity.WARNING, message, consequence, fix, origin))

    def _error(
        self,
        rule: str,
        position: Position,
        message: str,
        consequence: str,
        fix: str,
        *,
        edit: Edit | None = None,
    ) -> None:
        origin = self.origin(position)
        self.findings.append(Finding(rule, Severity.ERROR, message, consequence, fix, origin, edit))

    def drop(self, route: Route) -> None:
        """Do without the whole setting in which the route ends.

        A setting with a piece missing would be another setting, and a connector without its name
        or one of its children another connector.
        """
        match route:
            case ("connector", "name" | "children", *_):
                self.dropped.add(route[:1])
            case ("connector", "extra_config" | "options", _, *_):
                self.dropped.add(route[:3])
            case ("connector" | "target", _, *_):
                self.dropped.add(route[:2])
            case (str(section), _, *_) if section in _OPEN_SECTIONS:
                self.dropped.add(route[:2])
            case _:
                self.dropped.add(route[:1])

    def usable(self) -> dict[str, Json]:
        """The document's content without what was dropped."""
        content = _without(self.root.value, (), self.dropped)
        return content if isinstance(content, dict) else {}

    def section(self, name: str) -> Iterator[tuple[Route, str, Json]]:
        """Route, key and value of what is usable in a section of the document, in its order."""
        section = self.usable().get(name)
        if isinstance(section, dict):
            yield from (((name, key), key, value) for key, value in section.items())


def show(route: Route) -> str:
    """A route as an operator reads it: ``connector.children[0].role``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{shortened(part)}" for part in route)
    return "".join(parts).removeprefix(".")


def _without(value: Json, route: Route, dropped: set[Route]) -> Json:
    if not isinstance(value, dict) or not dropped:
        return value
    return {
        key: _without(inner, (*route, key), dropped)
        for key, inner in value.items()
        if (*route, key) not in dropped
    }
