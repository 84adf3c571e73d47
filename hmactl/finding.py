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


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a rule id, how bad, what is wrong, what follows if ignored, and the fix."""

    id: str
    severity: Severity
    message: str
    consequence: str
    fix: str
    origin: Origin
