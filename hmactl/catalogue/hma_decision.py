"""What a release of vLLM makes of HMA: by itself, and when it is asked for it.

The rules are read from the source of released wheels, see `connector_versions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class WithConnector(StrEnum):
    """What a vLLM makes of HMA by default where a connector is configured."""

    ALWAYS_OFF = "always off"
    OFF_UNLESS_ENABLED = "off unless enabled"
    ASKS = "asks the connector"


class Cause(StrEnum):
    """What besides a connector can switch HMA off."""

    PLATFORM = "platform"
    KV_EVENTS = "kv events"
    CHUNKED_EAGLE = "chunked local attention with eagle"
    CHUNKED = "chunked local attention"


CAUSES: Mapping[Cause, str] = {
    Cause.PLATFORM: "this platform has no HMA",
    Cause.KV_EVENTS: "vLLM has no HMA with --kv-events-config, be the events enabled or not",
    Cause.CHUNKED_EAGLE: "vLLM has no HMA with chunked local attention and EAGLE",
    Cause.CHUNKED: "vLLM has no HMA with chunked local attention here",
}
"""Each as a clause."""


class Enabling(StrEnum):
    """What an explicit enable comes to."""

    WORKS = "works"
    OVERRULED = "overruled"
    REFUSED = "refused at configuration time"
    CRASHES = "refused when the connector is created"


@dataclass(frozen=True, slots=True)
class OffloadingBackend:
    """The connector of an offloading backend; ``instead`` is it where ``variable`` is set.

    ``sized``: the size reaches the connector.
    """

    connector: str
    variable: str | None
    instead: str | None
    sized: bool


@dataclass(frozen=True, slots=True)
class Offloading:
    """How ``kv-offloading-size`` and ``kv-offloading-backend`` become a connector.

    ``late``: after HMA is decided, which then goes as if there were no connector.
    ``backend_needed``: the size alone does nothing.
    """

    late: bool
    backend_needed: bool
    default: str | None
    backends: Mapping[str, OffloadingBackend]


@dataclass(frozen=True, slots=True)
class HmaRules:
    """``variable`` allows chunked local attention with HMA, ``allowed`` is its default.

    ``refuses``: an explicit enable is refused where something switches HMA off, not overruled.
    ``hisparse_needs_hma`` where there is HiSparse. ``platforms`` are those with HMA, by the names
    of vLLM's modules.
    """

    with_connector: WithConnector
    off_by: frozenset[Cause]
    variable: str | None
    allowed: bool
    refuses: bool
    hisparse_needs_hma: bool
    platforms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a deployment brings into vLLM's decision besides the connector.

    ``chunks`` is a model with chunked local attention (an attention_chunk_size), ``allows_chunks``
    the variable's value or None where it is not set, ``kv_events`` a kv-events-config.
    """

    platform: str = "cuda"
    kv_events: bool = False
    chunks: bool = False
    allows_chunks: bool | None = None
    eagle: bool = False
    hisparse: bool = False


@dataclass(frozen=True, slots=True)
class Configured:
    """Whether HMA is on once vLLM is configured, or, where it refuses, why."""

    on: bool | None
    error: str | None = None


_REFUSES = "vLLM refuses to have HMA enabled explicitly"
_HISPARSE = "HiSparse requires HMA"


def causes(rules: HmaRules, circumstances: Circumstances) -> tuple[Cause, ...]:
    """What besides a connector switches HMA off."""
    allowed = circumstances.allows_chunks
    if allowed is None:
        allowed = rules.allowed
    applies = {
        Cause.PLATFORM: circumstances.platform not in rules.platforms,
        Cause.KV_EVENTS: circumstances.kv_events,
        Cause.CHUNKED_EAGLE: circumstances.chunks and circumstances.eagle,
        Cause.CHUNKED: circumstances.chunks and not circumstances.eagle and not allowed,
    }
    return tuple(cause for cause in Cause if applies[cause] and cause in rules.off_by)


def configured(
    rules: HmaRules,
    circumstances: Circumstances,
    connector: bool | None,
    enable: bool | None,
) -> Configured:
    """HMA after vLLM's own configuration, before a connector is created.

    ``connector`` is whether the connector that vLLM sees by then supports HMA, None where it sees
    none; ``enable`` the explicit flag, None where there is none.
    """
    off_by = causes(rules, circumstances)
    if enable is False:
        on = False
    elif rules.with_connector is WithConnector.ALWAYS_OFF:
        on = not off_by and connector is None
    elif enable is True:
        if off_by and rules.refuses:
            return Configured(None, f"{_REFUSES}: {CAUSES[off_by[0]]}")
        on = not off_by
    else:
        keeps = connector is None or (rules.with_connector is WithConnector.ASKS and connector)
        on = not off_by and keeps
    if circumstances.hisparse and rules.hisparse_needs_hma and not on:
        return Configured(None, _HISPARSE)
    return Configured(on)


def enabling(rules: HmaRules, circumstances: Circumstances, connector: bool | None) -> Enabling:
    """What becomes of an explicit enable; ``connector`` as for `configured`."""
    state = configured(rules, circumstances, connector, enable=True)
    if state.error is not None:
        return Enabling.REFUSED
    if not state.on:
        return Enabling.OVERRULED
    return Enabling.CRASHES if connector is False else Enabling.WORKS


def hma_rules(facts: Mapping[str, Any]) -> HmaRules:
    """The rules of a release, from what its source says."""
    decision = facts["decision"]
    variable = decision["variable"]
    return HmaRules(
        with_connector=WithConnector(facts["with_connector"]),
        off_by=frozenset(map(Cause, decision["off_by"])),
        variable=None if variable is None else variable["name"],
        allowed=variable is None or variable["default"],
        refuses=decision["explicit_on"] == "refused",
        hisparse_needs_hma="hisparse" in decision["needed_by"],
        platforms=frozenset(decision["platforms"]),
    )


def offloading(facts: Mapping[str, Any] | None) -> Offloading | None:
    """The offloading options of a release, from what its source says; None where it has none."""
    if facts is None:
        return None
    return Offloading(
        late=facts["expanded"] == "after",
        backend_needed=facts["asked_by"] == "both",
        default=facts["default"],
        backends={name: OffloadingBackend(**b) for name, b in facts["backends"].items()},
    )
