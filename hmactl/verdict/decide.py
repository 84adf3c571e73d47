"""The decision about HMA as a pure function of facts."""

from dataclasses import dataclass

from hmactl.deployment.policy import HmaPolicy
from hmactl.verdict.verdict import HMA_OFF, HMA_ON, Decision, EngineDefault, Verdict


@dataclass(frozen=True, slots=True)
class Possibility:
    """Whether the engine starts with HMA in one state, leaving memory aside.

    ``obstacle`` is None where it does, else why not, as a clause: "the connector ...".
    """

    obstacle: str | None

    @property
    def possible(self) -> bool:
        return self.obstacle is None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that the decision depends on.

    ``supports_hma`` is the connector's support: None where its class does not load; ``connector``
    None means that there is no connector. ``groups`` counts KV cache groups with HMA on.
    ``default_on`` is the engine's own decision, None where it fails by itself.
    """

    policy: HmaPolicy
    connector: str | None
    supports_hma: bool | None
    groups: int
    on: Possibility
    off: Possibility
    default_on: bool | None


def decide(situation: Situation) -> Verdict:
    """Keep, disable, refuse, irrelevant or unknown; see DESIGN of ``hma:`` in HmaPolicy."""
    default = _engine_default(situation)
    if situation.connector is not None and situation.supports_hma is None:
        return Verdict(
            Decision.UNKNOWN,
            default,
            None,
            f"the class of {situation.connector} does not load here, so nobody can tell whether "
            "it supports HMA",
        )
    if situation.groups <= 1 and (situation.on.possible or situation.off.possible):
        return _irrelevant(situation, default)
    match situation.policy:
        case HmaPolicy.DISABLE:
            return _disable_as_asked(situation, default)
        case HmaPolicy.KEEP:
            return _keep_or_refuse(situation, default)
    return _auto(situation, default)


def _engine_default(situation: Situation) -> EngineDefault:
    match situation.default_on:
        case None:
            return EngineDefault.FAILS
        case True:
            return EngineDefault.ON if situation.on.possible else EngineDefault.FAILS
    return EngineDefault.OFF if situation.off.possible else EngineDefault.FAILS


def _irrelevant(situation: Situation, default: EngineDefault) -> Verdict:
    # Asking for HMA with a connector that lacks it ends a start even where HMA changes nothing.
    on = situation.on.possible and situation.policy is not HmaPolicy.DISABLE
    on = on or not situation.off.possible
    return Verdict(
        Decision.IRRELEVANT,
        default,
        HMA_ON if on else HMA_OFF,
        "all layers share one KV cache group" if situation.groups else "there is no KV cache",
    )


def _disable_as_asked(situation: Situation, default: EngineDefault) -> Verdict:
    if situation.off.possible:
        return Verdict(Decision.DISABLE, default, HMA_OFF, "the deployment asks for it")
    return Verdict(
        Decision.REFUSE,
        default,
        None,
        f"the deployment asks for HMA off, but {situation.off.obstacle}",
    )


def _keep_or_refuse(situation: Situation, default: EngineDefault) -> Verdict:
    if situation.on.possible:
        return Verdict(Decision.KEEP, default, HMA_ON, _supports(situation))
    return Verdict(
        Decision.REFUSE,
        default,
        None,
        f"the deployment asks to keep HMA, but {situation.on.obstacle}",
    )


def _auto(situation: Situation, default: EngineDefault) -> Verdict:
    if situation.on.possible:
        return Verdict(Decision.KEEP, default, HMA_ON, _supports(situation))
    if situation.off.possible:
        return Verdict(
            Decision.DISABLE,
            default,
            HMA_OFF,
            f"{situation.on.obstacle}; the model can run without HMA",
        )
    return Verdict(
        Decision.REFUSE,
        default,
        None,
        f"{situation.on.obstacle}, and {situation.off.obstacle}",
    )


def _supports(situation: Situation) -> str:
    if situation.connector is None:
        return "no connector stands in the way of HMA"
    return f"{situation.connector} supports HMA"
