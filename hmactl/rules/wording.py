"""Sentences that several rules share."""

from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.size import format_gib
from hmactl.engine.answer import Plans
from hmactl.rules.case import Case
from hmactl.verdict.verdict import HMA_OFF, HMA_ON


def capacity_loss(plan: Plans) -> str:
    """What HMA off costs: tokens for the same memory, or memory for one request."""
    on, off = plan.hma_on, plan.hma_off
    if on.capacity and off.capacity and off.capacity >= on.capacity:
        return (
            f"{off.capacity:,} tokens of KV cache instead of {on.capacity:,}: with this layout it "
            "costs no capacity"
        )
    if on.capacity and off.capacity:
        return (
            f"{off.capacity:,} tokens of KV cache instead of {on.capacity:,}: "
            f"{1 - off.capacity / on.capacity:.0%} of the capacity is lost"
        )
    if on.bytes_per_request and off.bytes_per_request:
        return (
            f"one request of maximum length needs {format_gib(off.bytes_per_request)} of KV cache "
            f"instead of {format_gib(on.bytes_per_request)}"
        )
    return "the capacity that HMA gives is lost"


def asking_text(case: Case, policy: HmaPolicy) -> str:
    """How the operator asks for that policy, in the form in which the deployment is written."""
    if case.facts.deployment.form is Form.PROFILE:
        return f"set `hma: {policy}`"
    flags = {HmaPolicy.KEEP: HMA_ON, HmaPolicy.DISABLE: HMA_OFF}
    return f"write `{flags[policy]}` instead" if policy in flags else "remove the flag"


def option_text(case: Case, name: str, value: str) -> str:
    """A vLLM option with its value, in the form in which the deployment is written."""
    if case.facts.deployment.form is Form.PROFILE:
        return f"`{name}: {value}`"
    return f"`--{name}`" if value == "true" else f"`--{name} {value}`"


def connector_text(case: Case, name: str) -> str:
    """That connector, in the form in which the deployment is written."""
    profile = case.facts.deployment.form is Form.PROFILE
    return f"`connector: {name}`" if profile else f'`"kv_connector": "{name}"`'


def enabling_text(case: Case) -> str | None:
    """What comes of asking this vLLM for HMA all the same; None where that is not known."""
    answer = case.facts.answer
    if answer.hma is None or answer.connector is None or answer.connector.supports_hma is not False:
        return None
    state, vllm = answer.hma.explicit_on, f"vLLM {answer.versions.vllm}"
    if state.error is not None:
        return f"with {HMA_ON} {vllm} ends at configuration time"
    if state.on is False:
        return f"{HMA_ON} changes nothing: {vllm} overrules it"
    if state.on is True:
        return f"with {HMA_ON} {vllm} ends when it creates the connector, after loading the weights"
    return None
