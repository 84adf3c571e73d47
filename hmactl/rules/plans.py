"""Which of the two plans counts: shared by rules of several families."""

from hmactl.engine.answer import Plan
from hmactl.rules.case import Case
from hmactl.verdict.verdict import HMA_OFF


def chosen_plan(case: Case) -> Plan | None:
    """The plan that the verdict's flag selects."""
    plan = case.facts.answer.plan
    if plan is None or case.verdict.flag is None:
        return None
    return plan.hma_off if case.verdict.flag == HMA_OFF else plan.hma_on
