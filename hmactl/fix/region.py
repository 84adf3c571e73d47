"""A stretch of a text and what is to stand there instead."""

from typing import NamedTuple


class Region(NamedTuple):
    """``new`` instead of what stands there, by 1-based lines and columns.

    ``end_column`` is the first that stays.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    new: str
