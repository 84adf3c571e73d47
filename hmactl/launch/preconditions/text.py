"""What stands in the way of a start, as text."""

from collections.abc import Callable, Sequence

from hmactl.launch.preconditions.problem import Problem
from hmactl.report.redact import redact
from hmactl.report.wrapped import wrapped


def render_problems(problems: Sequence[Problem], style: Callable[[str, str], str]) -> str:
    """A few lines for each, the fatal ones first."""
    lines: list[str] = []
    for one in sorted(problems, key=lambda one: not one.fatal):
        kind = "error" if one.fatal else "warning"
        lines.append(f"{style(kind, kind)}: this machine: {redact(one.problem)}")
        for label, text in (("", one.consequence), ("fix: ", one.fix)):
            lines += wrapped(label, redact(text))
    return "\n".join(lines)
