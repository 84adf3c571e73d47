"""From a document to findings and a verdict without an engine: the pipe of ``hmactl lint``."""

from dataclasses import dataclass

from hmactl.catalogue.gpus import DEFAULT_GPU, Gpu, UnknownGpuError, find_gpu
from hmactl.catalogue.models import ModelFacts, find_model
from hmactl.checked import Checked, sorted_findings
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.engine.answer import Answer
from hmactl.facts.facts import Facts
from hmactl.facts.offline import Offline, offline_answer
from hmactl.rules.case import Case
from hmactl.rules.catalogue import RULES
from hmactl.rules.eng import eng003_unknown_gpu
from hmactl.sources.document import Document
from hmactl.sources.given import ReadFile
from hmactl.sources.lmcache_file import carried_file, read_lmcache_file
from hmactl.verdict.known import known
from hmactl.verdict.offline import ModelKind, offline_verdict
from hmactl.verdict.verdict import Decision, Verdict


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

    ``read_file`` opens what the deployment names and what lies beside its source.
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
    file = _lmcache_file(deployment, read_file)
    answer, no_plan = offline_answer(
        Offline(
            deployment=deployment,
            vllm=vllm,
            lmcache=lmcache,
            gpu=gpu,
            config=None if model is None else model.config,
            memory=deployment.target.kv_cache_memory,
            file=file,
        )
    )
    facts = Facts(deployment, answer, None, gpu, None, file)
    verdict = _verdict(deployment, answer, vllm, lmcache, chunks=_has_chunks(model))
    case = Case(facts, verdict)
    findings += [finding for rule in RULES for finding in rule.check(case)]
    checked = Checked(document.source, deployment, verdict, sorted_findings(findings), facts)
    return Linted(checked, no_plan, vllm, lmcache)


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
    deployment: Deployment,
    answer: Answer,
    vllm: str | None,
    lmcache: str | None,
    *,
    chunks: bool | None,
) -> Verdict:
    asked = known(deployment, vllm=vllm, lmcache=lmcache, model=_kind(answer), chunks=chunks)
    if asked is None:
        return Verdict(Decision.UNKNOWN, None, None, "the connector is not known")
    return offline_verdict(asked)


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
