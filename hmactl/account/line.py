"""A step of the arithmetic, and what belongs together."""

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What a value counts. ``requests`` are requests of max_model_len tokens."""

    BYTES = "bytes"
    RATE = "bytes per token"
    TOKENS = "tokens"
    CHUNKS = "chunks"
    REQUESTS = "requests"
    BLOCKS = "blocks"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Line:
    """One figure. ``how`` is where it comes from, as words and arithmetic.

    ``low`` is the lower end of a range, of which ``value`` is the upper. What is no ``estimate`` is
    exact.
    """

    name: str
    value: float
    unit: Unit
    how: str
    low: float | None = None
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Figures about one place; ``notes`` are what else is true of it, as sentences."""

    title: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
