"""The outcome for a deployment, whoever judged it, and what only shows in several of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hmactl.deployment.deployment import Deployment
from hmactl.facts.facts import Facts
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.catalogue import RULES_TOGETHER
from hmactl.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome for one document. ``failure`` says why the engine could not be asked."""

    source: str
    deployment: Deployment | None
    verdict: Verdict
    findings: tuple[Finding, ...]
    facts: Facts | None = None
    failure: str | None = None

    @property
    def launchable(self) -> bool:
        """Nothing forbids a start: no error, and an explicit HMA flag to start with."""
        errors = any(f.severity is Severity.ERROR for f in self.findings)
        return self.verdict.flag is not None and not errors and self.failure is None


def check_together(checked: Sequence[Checked]) -> list[Checked]:
    """The same with what only shows in several deployments of one call, at the one it is about."""
    cases = {
        index: Case(one.facts, one.verdict)
        for index, one in enumerate(checked)
        if one.facts is not None
    }
    further: dict[int, list[Finding]] = {index: [] for index in cases}
    for rule in RULES_TOGETHER:
        for about, finding in rule.check_together([*cases.values()]):
            further[next(i for i, case in cases.items() if case is about)].append(finding)
    return [
        replace(one, findings=sorted_findings([*one.findings, *further.get(index, [])]))
        for index, one in enumerate(checked)
    ]


def sorted_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    def key(finding: Finding) -> tuple[str, int, int, int, str]:
        origin = finding.origin
        place = (origin.source, origin.line or 0, origin.column or 0)
        return (*place, finding.severity.rank, finding.id)

    return tuple(sorted(findings, key=key))
