"""The outcome for a deployment, whoever judged it, and what only shows in several of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hmactl.deployment.deployment import Deployment
from hmactl.facts.facts import Facts
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.catalogue import rules_together
from hmactl.verdict.verdict import Verdict

# What a chart makes of its values: the rule about the chart says it in the operator's words. With
# words of the message for a rule that may be about something else there.
_SAID_BETTER = {
    "CON020": ("K8S015", "--kv-transfer-config"),
    "LMC027": ("K8S013", "max_local_disk_size"),
}


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
    for rule in rules_together([*cases.values()]):
        for about, finding in rule.check_together([*cases.values()]):
            further[next(i for i, case in cases.items() if case is about)].append(finding)
    return [
        replace(one, findings=sorted_findings([*one.findings, *further.get(index, [])]))
        for index, one in enumerate(checked)
    ]


def sorted_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """By their places, without those that another one at their line says better."""

    def key(finding: Finding) -> tuple[str, int, int, int, str]:
        origin = finding.origin
        place = (origin.source, origin.line or 0, origin.column or 0)
        return (*place, finding.severity.rank, finding.id)

    said = {(f.id, f.origin.source, f.origin.line) for f in findings}
    return tuple(sorted((f for f in findings if not _said_better(f, said)), key=key))


def _said_better(finding: Finding, said: set[tuple[str, str, int | None]]) -> bool:
    rule, words = _SAID_BETTER.get(finding.id, ("", ""))
    place = (finding.origin.source, finding.origin.line)
    return (rule, *place) in said and words in finding.message.lower()
