"""What was seen of a watched server, for a person."""

from collections.abc import Iterator

from hmactl.launch.verify.watch import COMPUTED, EXTERNAL, LOCAL, Change, Silence

_SOURCES = {EXTERNAL: "from outside", LOCAL: "from the GPU's cache", COMPUTED: "computed"}


def watch_line(seen: Change | Silence) -> str:
    """One line."""
    if isinstance(seen, Silence):
        return f"no answer: {seen.reason}"
    text = "  ".join(f"{name} {value}" for name, value in watch_rows(seen))
    return f"the server was started again; since then: {text}" if seen.restarted else text


def watch_rows(seen: Change) -> Iterator[tuple[str, str]]:
    """Names and values; a dash is what the server does not count, or nobody asked for."""
    now = seen.now
    yield "KV cache", _percent(now.usage)
    yield "running", _number(now.running)
    yield "waiting", _number(now.waiting)
    yield "external hits", _percent(seen.external)
    yield "GPU hits", _percent(seen.local)
    yield "preemptions", _number(seen.preemptions)
    for source, name in _SOURCES.items():
        yield name, _rate(seen.per_second.get(source))
    yield "generated", _rate(seen.generated)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}/s"
