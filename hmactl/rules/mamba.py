"""Mamba states in the KV cache: shared by the rules about them."""

from hmactl.rules.case import Case
from hmactl.rules.plans import chosen_plan

_SPEC = "MambaSpec"


def aligned_block(case: Case) -> int | None:
    """Tokens between the states that are kept in align mode.

    None where the plan has no Mamba states, or none that can be found again.
    """
    plan, config = chosen_plan(case), case.facts.answer.config
    if plan is None or config is None or config.mamba_cache_mode != "align":
        return None
    sizes = {group.block_size for group in plan.groups if group.spec == _SPEC}
    return max(sizes) if sizes else None
