"""Chunks of LMCache against blocks of vLLM: shared by the rules about chunk sizes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hmactl.rules.case import Case
from hmactl.rules.plans import chosen_plan


@dataclass(frozen=True, slots=True)
class Misfit:
    """A chunk size that does not fit: what it should be a multiple of, and the nearest that is."""

    blocks: str
    multiple: int
    nearest: int


def group_blocks(case: Case) -> tuple[int, ...] | None:
    """The block sizes (tokens) of the KV cache groups of the plan that will be used.

    None where there is no plan, or where context parallelism spreads blocks over ranks.
    """
    plan = chosen_plan(case)
    flags = {setting.name for setting in case.facts.deployment.vllm}
    if plan is None or not plan.groups or "decode-context-parallel-size" in flags:
        return None
    return tuple(sorted({group.block_size for group in plan.groups}))


def misfit(chunk: int, blocks: Sequence[int]) -> Misfit | None:
    """None where every block size divides the chunk size."""
    multiple = math.lcm(*blocks)
    if chunk > 0 and chunk % multiple == 0:
        return None
    sizes = " and ".join(map(str, blocks))
    what = f"vLLM's block size {sizes}" if len(blocks) == 1 else f"vLLM's block sizes {sizes}"
    return Misfit(what, multiple, max(1, round(chunk / multiple)) * multiple)
