"""Which name was meant by one that does not exist."""

from collections.abc import Collection, Sequence

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Origin
from hmactl.deployment.slip import is_slip
from hmactl.finding import Change, Edit, edit_at

_SHORTEST = 4


def meant(name: str, near: Sequence[str], taken: Collection[str]) -> str | None:
    """The one of the near names, best first, that can only have been meant; None if in doubt.

    It differs by a slip, and the next one does not; or it is the only one and goes on where the
    name ends. A name that is like another may still be a former one that was about something else.
    A name that is ``taken`` is set already.
    """
    if not near or near[0] in taken:
        return None
    first, *others = near
    if is_slip(name, first):
        return None if any(is_slip(name, other) for other in others) else first
    goes_on = len(name) >= _SHORTEST and first.startswith((f"{name}_", f"{name}-"))
    return first if goes_on and not others else None


def renamed(connector: Connector, written: str, right: str | None) -> Edit | None:
    """The right name for one that is written in a connector; None where its place is not known."""
    place = connector.place_of(written)
    return None if place is None or right is None else edit_at(place, written, right)


def renamed_option(origin: Origin, written: str, right: str | None) -> Edit | None:
    """The right name of an option, both without dashes in front."""
    return None if right is None else edit_at(origin, written, right, change=Change.OPTION)
