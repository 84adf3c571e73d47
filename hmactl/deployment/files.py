"""Files that a deployment's processes find at a path, and whose content was read."""

from dataclasses import dataclass

from hmactl.deployment.places import Places
from hmactl.deployment.setting import Origin


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as the process sees it: ``path`` is where it looks for it.

    ``places`` says where its characters stand in what the operator wrote, which for a ConfigMap is
    somewhere in a manifest.
    """

    path: str
    text: str
    places: Places

    def place(self, line: int, column: int) -> Origin:
        """The origin of a 1-based line and column of ``text``."""
        offset = 0
        for _ in range(line - 1):
            end = self.text.find("\n", offset)
            if end < 0:
                break
            offset = end + 1
        return self.places.at(offset + column - 1)
