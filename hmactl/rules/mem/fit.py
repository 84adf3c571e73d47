"""Whether and when one request fits: shared by the rules about KV cache memory."""

import math
import re

from hmactl.deployment.size import format_gib
from hmactl.engine.answer import Plan
from hmactl.facts.memory import MemoryOrigin
from hmactl.rules.alternatives import alternatives
from hmactl.rules.case import Case
from hmactl.verdict.verdict import HMA_OFF

_LONGEST = re.compile(r"estimated maximum model length is (\d+)")


def engine_words(plan: Plan) -> str | None:
    """What the engine says of the shortage, without its general advice; None if it is another."""
    message = "" if plan.error is None else plan.error.message
    words = message.partition("Try increasing")[0].strip()
    return words if words.startswith(("To serve at least", "No available memory")) else None


def longest_length(plan: Plan) -> int | None:
    """The longest max-model-len that fits, in tokens, as the engine itself estimates it."""
    if plan.error is None or (found := _LONGEST.search(plan.error.message)) is None:
        return None
    return int(found[1])


def shortage(case: Case, plan: Plan) -> str:
    """What is needed and what is there."""
    config, memory = case.facts.answer.config, case.facts.memory
    if config is None or memory is None or plan.bytes_per_request is None:
        return "not enough KV cache memory"
    hma = "off" if case.verdict.flag == HMA_OFF else "on"
    if _blocks_are_given(case):
        left = f"`num-gpu-blocks-override` allows {config.num_gpu_blocks_override:,} blocks"
    elif _estimated(case):
        left = f"about {format_gib(memory.smallest)} are left (estimate, before activations)"
    else:
        left = f"there are {format_gib(memory.smallest)}"
    return (
        f"with HMA {hma} one request of {config.max_model_len:,} tokens needs "
        f"{format_gib(plan.bytes_per_request)} of KV cache, and {left}"
    )


def _estimated(case: Case) -> bool:
    memory = case.facts.memory
    return memory is not None and memory.origin is MemoryOrigin.ESTIMATED


def _blocks_are_given(case: Case) -> bool:
    config = case.facts.answer.config
    return config is not None and config.num_gpu_blocks_override is not None


def remedies(case: Case, plan: Plan) -> str:
    """The longest length that fits, the utilisation that would do, and what HMA on would change."""
    options = []
    longest = longest_length(plan)
    if longest is not None:
        guess = "about " if _estimated(case) else ""
        options.append(f"`max-model-len` up to {guess}{longest:,}")
    if (utilisation := enough_utilisation(case, plan)) is not None:
        options.append(f"`gpu-memory-utilization` of about {utilisation:.2f} (estimate)")
    elif plan.bytes_per_request is not None and not _blocks_are_given(case):
        options.append(f"{format_gib(plan.bytes_per_request)} of KV cache memory")
    if _blocks_are_given(case):
        options.append("a larger `num-gpu-blocks-override`, or none")
    if (better := with_hma_on(case)) is not None:
        options.append(better)
    return "; or ".join(options)


def enough_utilisation(case: Case, plan: Plan) -> float | None:
    """The share of the GPU that leaves enough for one request, rounded up to a hundredth.

    None where the memory is not estimated, or where the whole GPU would not do.
    """
    memory, config = case.facts.memory, case.facts.answer.config
    if memory is None or memory.total is None or config is None or plan.bytes_per_request is None:
        return None
    share = (plan.bytes_per_request + memory.besides) / memory.total
    rounded = math.ceil(share * 100) / 100
    return rounded if rounded < 1 else None


def with_hma_on(case: Case) -> str | None:
    """What a connector that keeps HMA on would change; None where HMA is on already."""
    plan = case.facts.answer.plan
    others = alternatives(case)
    if plan is None or case.verdict.flag != HMA_OFF or not others or plan.hma_on.capacity is None:
        return None
    return (
        f"{others[0].facts.name}, which keeps HMA on: about {plan.hma_on.capacity:,} tokens fit "
        "then into the same memory"
    )
