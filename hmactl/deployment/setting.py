"""One value of a deployment, and where the operator wrote it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that an operator can open: a file with 1-based line and column, or a kind of source.

    ``source`` is the path as the operator gave it, or one of "command line", "environment",
    "default".
    """

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.source
        return f"{self.source}:{self.line}:{self.column or 1}"


@dataclass(frozen=True, slots=True)
class Setting:
    """A named value with its origin; ``name`` is vLLM's or LMCache's own name for it.

    ``places`` are those of the keys in the value, where it has any and they are certain.
    """

    name: str
    value: Json
    origin: Origin
    places: tuple[tuple[str, Origin], ...] = field(default=(), compare=False, repr=False)


class Area(StrEnum):
    """The part of a deployment that a setting belongs to."""

    MODEL = "model"
    VLLM = "vllm"
    CONNECTOR = "connector"
    LMCACHE = "lmcache"
    LMCACHE_SERVER = "lmcache_server"
    ENV = "env"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A setting that the operator wrote and whose value cannot be known from what was read.

    ``text`` is the value as written (``$MODEL``, ``secretKeyRef hf-token/token``); ``needs`` are
    the names of the variables that would make it known, if that is what is missing. ``name`` is
    None where even the name is not known: anything in that area may be set.
    """

    area: Area
    name: str | None
    text: str
    origin: Origin
    needs: tuple[str, ...] = ()


COMMAND_LINE = Origin("command line")
ENVIRONMENT = Origin("environment")
DEFAULT = Origin("default")
