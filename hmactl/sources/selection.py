"""Which files of a directory are meant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a directory are meant: glob patterns against paths as they are shown.

    Without ``include`` it is those that can hold a form that hmactl reads, by their names.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
