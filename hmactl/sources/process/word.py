"""A word of a command, or the value of a variable, as the program would get it."""

from dataclasses import dataclass

from hmactl.deployment.places import Places, places_of_point
from hmactl.deployment.setting import Origin


@dataclass(frozen=True, slots=True)
class Word:
    """One argument with its place.

    Where not all of it is known, ``known`` is False, ``text`` is as written (``$MODEL``), ``needs``
    are the names of the variables that are missing, and ``several`` says that it may come to any
    number of words, as an unquoted variable of a shell may. ``places`` are those of the characters
    of ``text``, where a reader knows them: a word may be a whole script.
    """

    text: str
    origin: Origin
    known: bool = True
    needs: tuple[str, ...] = ()
    several: bool = False
    places: Places | None = None

    def where(self) -> Places:
        """The places of the text, or the word's own for all of it."""
        return self.places or places_of_point(self.origin)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the process's environment; ``origin`` is where its name stands."""

    name: str
    value: Word
    origin: Origin
