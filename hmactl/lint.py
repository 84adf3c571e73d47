"""From a document to findings and a verdict without an engine: the pipe of ``hmactl lint``."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hmactl.catalogue.connector_versions import lmcache_releases, vllm_releases
from hmactl.catalogue.gpus import DEFAULT_GPU, Gpu, UnknownGpuError, find_gpu
from hmactl.catalogue.hma_decision import Enabling
from hmactl.catalogue.models import ModelFacts, find_model
from hmactl.checked import Checked, sorted_findings
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.engine.answer import Answer, Hma, HmaState
from hmactl.facts.facts import Facts
from hmactl.facts.offline import Offline, offline_answer
from hmactl.facts.transfer import transfer_connector
from hmactl.finding import Finding
from hmactl.rules.case import Case
from hmactl.rules.catalogue import rules_for
from hmactl.rules.eng import eng003_unknown_gpu
from hmactl.sources.document import Document
from hmactl.sources.given import ReadFile
from hmactl.sources.lmcache_file import carried_file, read_lmcache_file
from hmactl.verdict.known import known
from hmactl.verdict.offline import ModelKind, explicit_enable, offline_verdict
from hmactl.verdict.verdict import Decision, Verdict

_SAMPLES = 5
_EXPLICIT_ON = {
    Enabling.WORKS: HmaState(on=True, error=None),
    Enabling.CRASHES: HmaState(on=True, error=None),  # once it is configured
    Enabling.OVERRULED: HmaState(on=False, error=None),
    Enabling.REFUSED: HmaState(on=None, error="vLLM refuses to have HMA enabled explicitly"),
}
# Findings that are about the plan.
_OF_A_PLAN = ("CON014", "CON015", "HMA", "LMC004", "LMS001", "LMS025", "MEM")


@dataclass(frozen=True, slots=True)
class Pins:
    """The versions that a deployment is for, where it does not say so itself."""

    vllm: str | None = None
    lmcache: str | None = None


@dataclass(frozen=True, slots=True)
class Linted:
    """The outcome for one document, and why there is no plan, if there is none."""

    checked: Checked
    no_plan: str | None
    vllm: str | None
    lmcache: str | None


def lint_document(document: Document, pins: Pins, read_file: ReadFile) -> Linted:
    """Judge one deployment by what ships with hmactl; nothing that a file names is run.

    ``read_file`` opens what the deployment names and what lies beside its source. Where a version
    is not known, a finding is reported if it holds for releases from the oldest to the newest.
    """
    deployment = document.deployment
    if deployment is None:
        verdict = Verdict(Decision.UNKNOWN, None, None, "nothing was read")
        return Linted(Checked(document.source, None, verdict, document.findings), None, None, None)
    vllm = deployment.target.vllm or pins.vllm
    lmcache = deployment.target.lmcache or pins.lmcache
    findings = list(document.findings)
    gpu: Gpu | None = None
    try:
        gpu = find_gpu(deployment.target.gpu or DEFAULT_GPU)
    except UnknownGpuError as error:
        findings.append(eng003_unknown_gpu.finding(error, deployment.target.gpu_origin))
    model = find_model(str(deployment.model.value))
    asked = Offline(
        deployment=deployment,
        vllm=vllm,
        lmcache=lmcache,
        gpu=gpu,
        config=None if model is None else model.config,
        memory=deployment.target.kv_cache_memory,
        file=_lmcache_file(deployment, read_file),
    )
    chunks = _has_chunks(model)
    *older, last = (
        replace(asked, vllm=one, lmcache=other)
        for one, other in _releases(deployment, vllm, lmcache)
    )
    newest = _judge(last, chunks=chunks)
    # What the newest release does not have at all need not be looked for in the others.
    found = {finding.id for finding in newest.findings}
    others = [_judge(one, chunks=chunks, only=found) for one in older]
    findings += _in_all(newest, others)
    verdicts = [one.verdict for one in others if one.no_plan is None or newest.no_plan]
    verdict = _common([*verdicts, newest.verdict])
    checked = Checked(document.source, deployment, verdict, sorted_findings(findings), newest.facts)
    return Linted(checked, newest.no_plan, vllm, lmcache)


@dataclass(frozen=True, slots=True)
class _Judged:
    facts: Facts
    verdict: Verdict
    findings: tuple[Finding, ...]
    no_plan: str | None


def _judge(asked: Offline, *, chunks: bool | None, only: Collection[str] | None = None) -> _Judged:
    answer, no_plan = offline_answer(asked)
    verdict, explicit_on = _verdict(asked, answer, chunks=chunks)
    if explicit_on is not None:
        unknown = HmaState(on=None, error=None)
        hma = Hma(operator_flag=None, default=unknown, explicit_on=explicit_on)
        answer = replace(answer, hma=hma)
    facts = Facts(asked.deployment, answer, None, asked.gpu, None, asked.file)
    case = Case(facts, verdict)
    rules = (rule for rule in rules_for(case) if only is None or rule.ID in only)
    found = tuple(finding for rule in rules for finding in rule.check(case))
    return _Judged(facts, verdict, found, no_plan)


def _common(verdicts: Sequence[Verdict]) -> Verdict:
    """The newest release's verdict, if it is every release's."""
    if len({verdict.decision for verdict in verdicts}) == 1:
        return verdicts[-1]
    reason = "it hangs on the versions of vLLM and LMCache, which are not known"
    return Verdict(Decision.UNKNOWN, None, None, reason)


def _in_all(newest: _Judged, others: Sequence[_Judged]) -> list[Finding]:
    """The findings of the newest release that the older ones have at the same place, too.

    Of what a plan shows, only releases are asked whose plan is known. A fix that is another for
    them says which release it is for, and changes no file.
    """
    versions = newest.facts.answer.versions
    theirs_of = [
        (one.no_plan is None, {(f.id, f.origin): f for f in one.findings}) for one in others
    ]
    found = []
    for finding in newest.findings:
        needs_plan = finding.id.startswith(_OF_A_PLAN)
        asked = [theirs for has_plan, theirs in theirs_of if has_plan or not needs_plan]
        alike = [theirs.get((finding.id, finding.origin)) for theirs in asked]
        older = [one for one in alike if one is not None]
        if len(older) < len(alike):
            continue
        same = all(one.fix == finding.fix for one in older)
        fix = finding.fix if same else f"with vLLM {versions.vllm}: {finding.fix}"
        edit = finding.edit if all(one.edit == finding.edit for one in older) else None
        found.append(replace(finding, fix=fix, edit=edit))
    return found


def _releases(
    deployment: Deployment, vllm: str | None, lmcache: str | None
) -> list[tuple[str | None, str | None]]:
    """The versions to judge for, the newest last."""
    engines = [vllm] if vllm else _spread([release.version for release in vllm_releases()])
    if lmcache or not _uses_lmcache(deployment):
        return [(engine, lmcache) for engine in engines]
    caches = _spread([release.version for release in lmcache_releases()])
    if vllm:
        return [(vllm, cache) for cache in caches]
    return list(zip(engines, caches, strict=True))


def _spread(versions: Sequence[str]) -> list[str]:
    """Some releases from the oldest to the newest, evenly."""
    last = len(versions) - 1
    return [versions[round(last * step / (_SAMPLES - 1))] for step in range(_SAMPLES)]


def _uses_lmcache(deployment: Deployment) -> bool:
    if deployment.lmcache or deployment.lmcache_server is not None:
        return True
    names = [s.name for s in deployment.env] + [u.name or "" for u in deployment.unknown]
    connectors = [deployment.connector, transfer_connector(deployment)]
    used = [one.name for connector in connectors if connector for one in connector.walk()]
    return any("LMCACHE" in name.upper() for name in (*names, *used))


def _lmcache_file(deployment: Deployment, read_file: ReadFile) -> LMCacheFile | None:
    named = next((s for s in deployment.env if s.name == "LMCACHE_CONFIG_FILE"), None)
    if named is None:
        return None
    path = str(named.value)
    file = carried_file(deployment, path) or read_file(path)
    if file is None:
        return LMCacheFile(path, named.origin, None)
    return read_lmcache_file(path, named.origin, file.text, file.places)


def _verdict(
    asked: Offline, answer: Answer, *, chunks: bool | None
) -> tuple[Verdict, HmaState | None]:
    """The verdict, and what an explicit enable comes to, if that is known."""
    found = known(
        asked.deployment,
        vllm=asked.vllm,
        lmcache=asked.lmcache,
        model=_kind(answer),
        chunks=chunks,
    )
    if found is None:
        return Verdict(Decision.UNKNOWN, None, None, "the connector is not known"), None
    enabling = explicit_enable(found)
    return offline_verdict(found), None if enabling is None else _EXPLICIT_ON[enabling]


def _has_chunks(model: ModelFacts | None) -> bool | None:
    """Whether the model has an attention_chunk_size, which vLLM's decision about HMA asks for."""
    if model is None:
        return None
    config = model.config.get("text_config", model.config)
    return bool(config.get("attention_chunk_size"))


def _kind(answer: Answer) -> ModelKind | None:
    if answer.plan is None or answer.plan.hma_on.error is not None:
        return None
    if len(answer.plan.hma_on.groups) == 1:
        return ModelKind.ONE_GROUP
    refused = answer.plan.hma_off.error is not None and not answer.plan.hma_off.groups
    return ModelKind.NOT_UNIFIABLE if refused else ModelKind.UNIFIABLE
