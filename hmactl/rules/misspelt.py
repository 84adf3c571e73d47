"""Which name was meant by one that does not exist."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Origin
from hmactl.finding import Change, Edit, edit_at

_ALIKE = 0.9
_APART = 0.08


def meant(name: str, near: Sequence[str], taken: Collection[str]) -> str | None:
    """The one of the near names, best first, that can only have been meant; None if in doubt.

    It is the only one, or differs by a letter or two from a name of some length while the next
    differs by more. A name that is ``taken`` is set already.
    """
    if not near or near[0] in taken:
        return None
    likeness = [SequenceMatcher(None, name, one).ratio() for one in near[:2]]
    alone = len(near) == 1 or (likeness[0] >= _ALIKE and likeness[1] <= likeness[0] - _APART)
    return near[0] if alone else None


def renamed(connector: Connector, written: str, right: str | None) -> Edit | None:
    """The right name for one that is written in a connector; None where its place is not known."""
    place = connector.place_of(written)
    return None if place is None or right is None else edit_at(place, written, right)


def renamed_option(origin: Origin, written: str, right: str | None) -> Edit | None:
    """The right name of an option, both without dashes in front."""
    return None if right is None else edit_at(origin, written, right, change=Change.OPTION)
