"""What hmactl has to say about a deployment, as data until a renderer prints it."""

from dataclasses import dataclass
from enum import StrEnum

from hmactl.deployment.setting import Origin


class Severity(StrEnum):
    """error: will not start, will corrupt, or can never do what was asked. warning: works but
    loses something. info: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the most severe; for sorting and thresholds."""
        return list(Severity).index(self)


class Change(StrEnum):
    """What an edit does at its place.

    text: ``new`` instead of ``old``. bare: the same for a value in quotes, and without these.
    option: the same for an option's name, whose dashes may be
    underscores. add: the option ``new`` in front of the option ``old``. drop: without the option
    ``old``, which has no value.
    """

    TEXT = "text"
    BARE = "bare"
    OPTION = "option"
    ADD = "add"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a file that puts a finding right: ``new`` instead of ``old`` at that place.

    Line and column count from 1. With ``behind`` the place is that of this name, and ``old`` is
    the value that follows it. An edit that is not ``safe`` changes what an operator chose.
    ``old`` of an option has no dashes in front.
    """

    source: str
    line: int
    column: int
    old: str
    new: str
    behind: str = ""
    safe: bool = True
    change: Change = Change.TEXT


def edit_at(
    origin: Origin,
    old: str,
    new: str,
    *,
    behind: str = "",
    safe: bool = True,
    change: Change = Change.TEXT,
) -> Edit | None:
    """An edit at that place; None where it is in no file."""
    if origin.line is None or origin.column is None:
        return None
    return Edit(origin.source, origin.line, origin.column, old, new, behind, safe, change)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a rule id, how bad, what is wrong, what follows if ignored, and the fix.

    ``edit`` is the fix as a change to the file, where there is exactly one.
    """

    id: str
    severity: Severity
    message: str
    consequence: str
    fix: str
    origin: Origin
    edit: Edit | None = None
