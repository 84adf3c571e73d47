"""Files that a deployment's processes find at a path, and whose content was read."""

from dataclasses import dataclass

from hmactl.deployment.setting import Origin


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as the process sees it: ``path`` is where it looks for it.

    ``origin`` is the place of the first character of ``text`` in what the operator wrote, which for
    a ConfigMap is a line of a manifest; every line of it begins ``indent`` columns further right
    than in ``text``.
    """

    path: str
    text: str
    origin: Origin
    indent: int = 0

    def place(self, line: int, column: int) -> Origin:
        """The origin of a 1-based line and column of ``text``."""
        first = self.origin.line or 1
        return Origin(self.origin.source, first + line - 1, column + self.indent)
