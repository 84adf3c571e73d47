"""What stands in the way of a start, as text."""

import textwrap
from collections.abc import Callable, Sequence

from hmactl.launch.preconditions.problem import Problem
from hmactl.report.redact import redact

_WIDTH = 100


def render_problems(problems: Sequence[Problem], style: Callable[[str, str], str]) -> str:
    """A few lines for each, the fatal ones first."""
    lines: list[str] = []
    for one in sorted(problems, key=lambda one: not one.fatal):
        kind = "error" if one.fatal else "warning"
        lines.append(f"{style(kind, kind)}: this machine: {redact(one.problem)}")
        for label, text in (("", one.consequence), ("fix: ", one.fix)):
            lines += textwrap.wrap(
                f"{label}{redact(text)}",
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines)
