"""What stands in the way of a start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something on this machine that is not as the deployment needs it.

    ``fatal``: the server would not start, or could never do what was asked of it.
    """

    problem: str
    consequence: str
    fix: str
    fatal: bool
