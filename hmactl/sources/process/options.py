"""How a program's options take their values, as far as is known."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol


class Takes(Enum):
    """What stands behind an option: nothing, one value, or any number of them."""

    NOTHING = auto()
    ONE = auto()
    SEVERAL = auto()


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its long dashed name. ``takes`` None: not known.

    ``negative``: the ``--no-`` form of it was written. ``shortened``: the name was written as a
    beginning of ``name`` that only it has, which vLLM's parser accepts.
    """

    name: str
    takes: Takes | None
    negative: bool = False
    shortened: bool = False


class Options(Protocol):
    """The options of one program."""

    def find(self, written: str) -> Option | None:
        """The option that a dashed name or a short alias such as ``-tp`` stands for.

        ``written`` has its dashes in front. None where there is no such option.
        """
        ...
