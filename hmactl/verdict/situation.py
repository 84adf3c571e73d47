"""From the engine's answer to the situation that the decision is about."""

from hmactl.engine.answer import Answer, ConnectorAnswer, HmaState, Plan
from hmactl.facts.facts import Facts
from hmactl.verdict.decide import Possibility, Situation, decide
from hmactl.verdict.verdict import Decision, EngineDefault, Verdict


def verdict_of(facts: Facts) -> Verdict:
    """The verdict on a deployment whose dry boot was answered.

    Where the engine refused before its plan, that is the verdict.
    """
    answer = facts.answer
    if answer.error is not None and answer.error.of_the_dry_boot:
        return Verdict(
            Decision.UNKNOWN,
            None,
            None,
            f"the dry boot cannot go on where a start could: {first_line(answer.error.message)}",
        )
    if answer.error is not None:
        return Verdict(
            Decision.REFUSE,
            EngineDefault.FAILS,
            None,
            f"vLLM refuses the deployment: {first_line(answer.error.message)}",
        )
    if answer.plan is None or answer.hma is None:
        return Verdict(Decision.UNKNOWN, None, None, "vLLM was not asked for its plan")
    if (refusal := refusal_of_any_plan(answer)) is not None:
        return Verdict(
            Decision.REFUSE,
            EngineDefault.FAILS,
            None,
            f"vLLM fails with HMA on and off alike: {first_line(refusal)}",
        )
    connector = answer.connector
    return decide(
        Situation(
            policy=facts.deployment.hma,
            connector=None if connector is None else connector.name,
            supports_hma=None if connector is None else connector.supports_hma,
            groups=facts.groups,
            on=_on(answer),
            off=_possible("off", answer.plan.hma_off, answer.hma.explicit_off),
            default_on=answer.hma.default.on,
        )
    )


def refusal_of_any_plan(answer: Answer) -> str | None:
    """The engine's words where it makes no plan, whatever the memory and with HMA on and off alike.

    None where it makes one.
    """
    if answer.plan is None:
        return None
    on, off = answer.plan.hma_on, answer.plan.hma_off
    if on.error is None or off.error is None or on.error != off.error:
        return None
    # A plan that was made for unlimited memory shows that only memory is in the way.
    return on.error.message if on.bytes_per_request is None else None


_LONGEST = 240  # characters


def first_line(message: str) -> str:
    """The engine's point: without pydantic's frame, and without the lists that it may append."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) > 1 and "validation error" in lines[0]:
        lines = lines[1:]
        if len(lines) > 1 and " " not in lines[0]:  # a field by itself, then what is wrong with it
            lines = [f"{lines[0]}: {lines[1]}"]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = [f"{lines[0]} {lines[1]}"]
    text = lines[0] if lines else message
    text = text.removeprefix("Value error, ").split(" [type=")[0].rstrip(". ")
    if len(text) <= _LONGEST:
        return text
    sentence = text[: text.find(". ") + 1].rstrip(".")
    return sentence if 0 < len(sentence) <= _LONGEST else f"{text[:_LONGEST]} ..."


def unsupporting(connector: ConnectorAnswer) -> list[str]:
    """The names of the connector or, for MultiConnector, of the children that lack HMA."""
    names = [c.name for c in connector.children if not c.supports_hma]
    return names or [connector.name]


def _on(answer: Answer) -> Possibility:
    if answer.plan is None or answer.hma is None:
        return Possibility("vLLM was not asked")
    connector = answer.connector
    if connector is not None and connector.supports_hma is False:
        who = " and ".join(unsupporting(connector))
        verb = "does" if len(unsupporting(connector)) == 1 else "do"
        inside = f" in {connector.name}" if who != connector.name else ""
        return Possibility(f"{who}{inside} {verb} not support HMA")
    return _possible("on", answer.plan.hma_on, answer.hma.explicit_on)


def _possible(hma: str, plan: Plan, state: HmaState) -> Possibility:
    if state.error is not None:
        return Possibility(f"with HMA {hma} vLLM fails: {first_line(state.error)}")
    if state.on is not None and state.on is not (hma == "on"):
        # vLLM 0.11 and 0.12 overrule the explicit flag where there is a connector.
        return Possibility(f"vLLM overrules the flag that asks for HMA {hma}")
    if plan.error is not None and plan.bytes_per_request is None:
        return Possibility(f"with HMA {hma} vLLM fails: {first_line(plan.error.message)}")
    return Possibility(None)
