"""Files that a deployment's processes find at a path, and whose content was read."""

from dataclasses import dataclass
from functools import lru_cache

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
        starts = _line_starts(self.text)
        return self.places.at(starts[min(line, len(starts)) - 1] + column - 1)


@lru_cache(maxsize=16)
def _line_starts(text: str) -> list[int]:
    starts, offset = [0], text.find("\n")
    while offset >= 0:
        starts.append(offset + 1)
        offset = text.find("\n", offset + 1)
    return starts
