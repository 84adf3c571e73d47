"""Who said what a model looks like."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ModelOrigin(StrEnum):
    """Who said what the model looks like, in the order in which they are asked."""

    DIRECTORY = "directory"
    CACHE = "cache"
    HUB = "hub"
    CATALOGUE = "catalogue"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A directory that holds the model's config.json, and who said so.

    ``detail`` names the directory, the address or the source of the catalogue's facts; ``as_of``
    is the date of a catalogue answer.
    """

    directory: Path
    origin: ModelOrigin
    detail: str
    as_of: str | None = None
