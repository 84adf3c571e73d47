"""From checked deployments to the report that every renderer prints."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hmactl.account.after_start import to_verify
from hmactl.account.memory import account
from hmactl.checked import Checked
from hmactl.deployment.policy import HmaPolicy
from hmactl.engine.answer import ConnectorAnswer, Plan, Spec
from hmactl.facts.facts import Facts
from hmactl.finding import Finding, Severity
from hmactl.report.lmcache import lmcache_report
from hmactl.report.model import (
    ConnectorReport,
    DeploymentReport,
    EngineReport,
    FindingReport,
    Group,
    LayerKind,
    MemoryLine,
    MemorySection,
    ModelReport,
    PlanReport,
    PlanSide,
    Report,
    Summary,
    ToVerify,
    VerdictReport,
)
from hmactl.report.redact import redact
from hmactl.verdict.verdict import HMA_OFF


def build_report(checked: Sequence[Checked]) -> Report:
    """The report on all deployments of one call, in the order given."""
    findings = [f for one in checked for f in one.findings]
    return Report(
        deployments=tuple(map(_deployment, checked)),
        summary=Summary(
            errors=_count(findings, Severity.ERROR),
            warnings=_count(findings, Severity.WARNING),
            infos=_count(findings, Severity.INFO),
            suppressed=0,
        ),
    )


def _count(findings: Sequence[Finding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)


def _deployment(one: Checked) -> DeploymentReport:
    facts, deployment = one.facts, one.deployment
    answer = None if facts is None else facts.answer
    missing = () if answer is None else answer.missing
    return DeploymentReport(
        source=one.source,
        name=redact(one.source if deployment is None else deployment.name),
        model=None if deployment is None else redact(str(deployment.model.value)),
        model_source=_model(facts),
        engine=_engine(facts),
        config=None if answer is None else answer.config,
        connector=None if answer is None else _connector(answer.connector),
        verdict=VerdictReport(
            policy=HmaPolicy.AUTO if deployment is None else deployment.hma,
            decision=one.verdict.decision,
            engine_default=one.verdict.engine_default,
            flag=one.verdict.flag,
            reason=redact(one.verdict.reason),
        ),
        plan=_plan(facts),
        memory=_memory(one),
        to_verify=_to_verify(one),
        lmcache=lmcache_report(facts),
        findings=tuple(map(finding_report, one.findings)),
        engine_warnings=() if answer is None else answer.warnings,
        missing=missing,
        failure=None if one.failure is None else redact(one.failure),
    )


def _model(facts: Facts | None) -> ModelReport | None:
    if facts is None or facts.model is None:
        return None
    model = facts.model
    return ModelReport(origin=model.origin, detail=model.detail, as_of=model.as_of)


def _engine(facts: Facts | None) -> EngineReport | None:
    if facts is None:
        return None
    return EngineReport(
        **asdict(facts.answer.versions),
        origin="dry-boot",
        gpu="cpu" if facts.gpu is None else facts.gpu.name,
        gpu_of_this_machine=facts.gpu is not None and facts.gpu.of_this_machine,
        stand_ins=facts.answer.stand_ins,
    )


def _connector(connector: ConnectorAnswer | None) -> ConnectorReport | None:
    if connector is None:
        return None
    return ConnectorReport.model_validate(asdict(connector))


def _plan(facts: Facts | None) -> PlanReport | None:
    if facts is None or facts.answer.plan is None or facts.memory is None:
        return None
    answer, memory = facts.answer, facts.memory
    stages = tuple(tuple(LayerKind(**_flat(k)) for k in stage) for stage in answer.layers)
    return PlanReport(
        kv_cache_memory_bytes=memory.smallest,
        activation_allowance_bytes=memory.activations,
        memory_origin=memory.origin,
        weights_bytes_per_rank=answer.weights,
        layers=stages[0] if stages else (),
        layers_per_stage=stages,
        attention_backends=answer.attention_backends,
        hma_on=_side(facts.answer.plan.hma_on),
        hma_off=_side(facts.answer.plan.hma_off),
    )


def _flat(spec: Spec) -> dict[str, Any]:
    fields = asdict(spec)
    further: dict[str, Any] = fields.pop("further")
    return fields | further


def _side(plan: Plan) -> PlanSide:
    return PlanSide(
        num_blocks=plan.num_blocks,
        tokens=plan.tokens,
        max_concurrency=plan.max_concurrency,
        block_size=plan.block_size,
        max_model_len=plan.max_model_len,
        bytes_per_request=plan.bytes_per_request,
        groups=tuple(Group(**_flat(group)) for group in plan.groups),
        error=None if plan.error is None else plan.error.message.strip() or plan.error.type,
    )


def _memory(one: Checked) -> tuple[MemorySection, ...]:
    if one.facts is None:
        return ()
    return tuple(
        MemorySection(
            title=section.title,
            lines=tuple(MemoryLine(**asdict(line)) for line in section.lines),
            notes=tuple(map(redact, section.notes)),
        )
        for section in account(one.facts, hma_on=one.verdict.flag != HMA_OFF)
    )


def _to_verify(one: Checked) -> tuple[ToVerify, ...]:
    if one.facts is None or one.verdict.flag is None:
        return ()
    checks = to_verify(one.facts, hma_on=one.verdict.flag != HMA_OFF)
    return tuple(ToVerify(**asdict(check)) for check in checks)


def finding_report(finding: Finding) -> FindingReport:
    """A finding as reported, with secrets hidden."""
    return FindingReport(
        id=finding.id,
        severity=finding.severity,
        message=redact(finding.message),
        consequence=redact(finding.consequence),
        fix=redact(finding.fix),
        path=finding.origin.source,
        line=finding.origin.line,
        column=finding.origin.column,
    )
