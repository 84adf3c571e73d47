"""The known causes of a failure as text."""

from collections.abc import Callable, Iterator

from hmactl.launch.failures import Cause, FailureLog
from hmactl.report.wrapped import wrapped

_MOST = 3


def render_failures(log: FailureLog, style: Callable[[str, str], str]) -> str:
    """The root cause and at most two more, for one screen; "" where nothing was found.

    Where no cause is known it is the engine's own words, if it has any.
    """
    causes = log.causes()
    lines: list[str] = []
    for cause in causes[:_MOST]:
        kind = "error" if cause.deadly else "warning"
        lines.append(f"{style('cause' if cause.deadly else 'without cache', kind)}: {cause.title}")
        lines += _details(cause)
    if len(causes) > _MOST:
        more = ", ".join(cause.id for cause in causes[_MOST:])
        lines.append(f"also: {more} (`hmactl diagnose` on the whole log shows them)")
    if not any(cause.deadly for cause in causes) and (words := log.unexplained()) is not None:
        lines += wrapped("the engine's own words, of which hmactl knows no cause: ", words, "")
    return "\n".join(lines)


def _details(cause: Cause) -> Iterator[str]:
    yield from wrapped("said: ", cause.evidence + (f" ({cause.who})" if cause.who else ""))
    for detail in cause.details:
        yield from wrapped("", detail)
    yield from wrapped("consequence: ", cause.consequence)
    yield from wrapped("fix: ", cause.fix)
    if cause.rules:
        yield from wrapped("more: ", ", ".join(f"`hmactl explain {rule}`" for rule in cause.rules))
