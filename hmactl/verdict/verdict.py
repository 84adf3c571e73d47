"""What hmactl decides about the hybrid KV cache manager."""

from dataclasses import dataclass
from enum import StrEnum

HMA_ON = "--no-disable-hybrid-kv-cache-manager"
HMA_OFF = "--disable-hybrid-kv-cache-manager"


class Decision(StrEnum):
    """keep: HMA on. disable: possible, at a cost. refuse: cannot work as configured.
    irrelevant: one KV cache group, HMA changes nothing. unknown: something is missing."""

    KEEP = "keep"
    DISABLE = "disable"
    REFUSE = "refuse"
    IRRELEVANT = "irrelevant"
    UNKNOWN = "unknown"


class EngineDefault(StrEnum):
    """What vLLM would do by itself: HMA on, off, or fail."""

    ON = "on"
    OFF = "off"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, the explicit flag that carries it out, and why in one or two sentences.

    ``flag`` is None where nothing is to be launched.
    """

    decision: Decision
    engine_default: EngineDefault | None
    flag: str | None
    reason: str
