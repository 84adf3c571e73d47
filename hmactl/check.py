"""From a profile document to findings and a verdict: the pipe that check and serve share."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hmactl.catalogue.gpus import DEFAULT_GPU, Gpu, UnknownGpuError, find_gpu
from hmactl.checked import Checked, sorted_findings
from hmactl.deployment.command import (
    lmcache_server_arguments,
    serve_environment,
    serve_flags,
)
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import COMMAND_LINE, ENVIRONMENT, Area, Origin, Setting
from hmactl.engine.answer import Answer
from hmactl.engine.ask import Question, Session
from hmactl.engine.child import DryBootFailedError
from hmactl.engine.model_config import ModelConfigError, model_config
from hmactl.engine.model_origin import ModelConfig
from hmactl.facts.facts import Facts
from hmactl.facts.memory import KvMemory, kv_memory
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.catalogue import rules_for
from hmactl.rules.eng import eng002_no_model_config, eng003_unknown_gpu
from hmactl.sources.document import Document
from hmactl.sources.lmcache_file import lmcache_file
from hmactl.sources.wording import shortened
from hmactl.verdict.situation import verdict_of
from hmactl.verdict.verdict import Decision, Verdict

# With an error of these the deployment lacks a setting, or vLLM would not take its arguments.
_HALF_READ = ("PRO", "CLI003", "CLI004", "CLI006")


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller wants of a check.

    ``gpu`` and ``kv_cache_memory`` (bytes per GPU) win over the profile's target; where neither
    names a GPU it is this machine's, which ``local_gpu`` asks for. ``extra`` are further
    ``vllm serve`` arguments. ``environment`` is the caller's, which the engine inherits; relative
    model paths are relative to ``directory``. ``host_memory`` is this machine's, in bytes.
    """

    environment: Mapping[str, str]
    directory: Path
    gpu: str | None = None
    local_gpu: Callable[[], Gpu | None] = lambda: None
    kv_cache_memory: int | None = None
    offline: bool = False
    extra: tuple[str, ...] = ()
    host_memory: int = 0
    on_stage: Callable[[str], None] = lambda _stage: None


def check_document(document: Document, session: Session | None, options: Options) -> Checked:
    """Ask the engine about one deployment and judge the answer.

    With findings of the profile itself only its flags and keys are checked, so that everything
    is reported at once and no plan is made of a half-read deployment.
    """
    if document.deployment is None:
        return _unknown(document, "the profile names no deployment")
    if session is None:
        return _unknown(document, "there is no engine to ask", failed=True)
    deployment = document.deployment
    if (missing := _missing(deployment)) is not None:
        return _unknown(document, missing, failed=True)
    try:
        gpu = _gpu(deployment, options)
    except UnknownGpuError as error:
        origin = COMMAND_LINE if options.gpu else deployment.target.gpu_origin
        return _unknown(document, str(error), finding=eng003_unknown_gpu.finding(error, origin))
    broken = any(
        f.severity is Severity.ERROR and f.id.startswith(_HALF_READ) for f in document.findings
    )
    try:
        facts = _ask(deployment, session, options, gpu, arguments_only=broken)
    except ModelConfigError as error:
        origin = _names(deployment, error.further)
        finding = eng002_no_model_config.finding(error, error.fix, origin)
        return _unknown(document, str(error), finding=finding)
    except DryBootFailedError as error:
        return _unknown(document, _failure(error), failed=True)
    verdict = verdict_of(facts)
    if facts.answer.error is None and facts.answer.plan is None:
        verdict = Verdict(
            Decision.UNKNOWN, None, None, "what was read has errors: no plan was made"
        )
    refusal = facts.answer.error
    failure = verdict.reason if refusal is not None and refusal.of_the_dry_boot else None
    case = Case(facts, verdict)
    found = [*document.findings, *(f for rule in rules_for(case) for f in rule.check(case))]
    return Checked(document.source, deployment, verdict, sorted_findings(found), facts, failure)


def _missing(deployment: Deployment) -> str | None:
    """What has to be known before the engine can be asked, and is not."""
    for unknown in deployment.unknown:
        if unknown.area is Area.MODEL:
            return f"the model is not known: `{shortened(unknown.text)}` at {unknown.origin}"
        if unknown.area is Area.VLLM:
            what = "what else vLLM is told" if unknown.name is None else f"`--{unknown.name}`"
            return f"{what} is not known: `{shortened(unknown.text)}` at {unknown.origin}"
    return None


def _names(deployment: Deployment, model: str | None) -> Origin:
    """Where the deployment names that model; its own model where it is none of a setting."""
    settings = (s for s in deployment.vllm if model is not None and model in str(s.value))
    return next((setting.origin for setting in settings), deployment.model.origin)


def _gpu(deployment: Deployment, options: Options) -> Gpu | None:
    named = options.gpu or deployment.target.gpu
    local = options.local_gpu() if named is None else None
    return find_gpu(named or DEFAULT_GPU) if local is None else local


def _ask(
    deployment: Deployment,
    session: Session,
    options: Options,
    gpu: Gpu | None,
    *,
    arguments_only: bool,
) -> Facts:
    memory: list[KvMemory] = []
    file = lmcache_file(deployment, options.environment, options.directory)
    given = options.kv_cache_memory or deployment.target.kv_cache_memory

    def size(answer: Answer) -> KvMemory:
        if answer.config is None:
            raise ValueError("the dry boot asked for memory before it had a configuration")
        memory.append(kv_memory(given, answer.config, answer.weights, gpu, options.host_memory))
        return memory[-1]

    def question(model: ModelConfig | None) -> Question:
        return Question(
            model=str(deployment.model.value),
            model_directory=None if model is None else model.directory,
            flags=tuple((name, tuple(args)) for name, args in serve_flags(deployment)),
            extra=options.extra,
            gpu=gpu,
            gpus=_world_size(deployment),
            environment={**options.environment, **serve_environment(deployment)},
            lmcache_keys=_lmcache_names(deployment),
            arguments_only=arguments_only,
            kv_cache_memory=given,
            lmcache_file=file,
            lmcache_server=lmcache_server_arguments(deployment),
        )

    def facts(answer: Answer, model: ModelConfig | None = None) -> Facts:
        sized = memory[-1] if memory else None
        inherited = _lmcache_variables(options.environment)
        return Facts(deployment, answer, model, gpu, sized, file, inherited)

    with ExitStack() as models:

        def find_model(name: str, revision: str | None) -> ModelConfig:
            return models.enter_context(
                model_config(
                    name,
                    options.environment,
                    base=options.directory,
                    revision=revision,
                    offline=options.offline,
                )
            )

        def find_further_model(name: str, revision: str | None) -> ModelConfig:
            try:
                return find_model(name, revision)
            except ModelConfigError as error:
                needed = f"{error}; the deployment needs it besides its own model"
                raise ModelConfigError(needed, error.fix, further=name) from error

        def answer_to(asked: Question) -> Answer:
            return session.ask(
                asked,
                on_stage=options.on_stage,
                size_memory=size,
                find_model=find_further_model,
            )

        if arguments_only:
            return facts(answer_to(question(None)))
        revision = deployment.vllm_setting("revision")
        model = find_model(
            str(deployment.model.value), None if revision is None else str(revision.value)
        )
        return facts(answer_to(question(model)), model)


def _lmcache_variables(environment: Mapping[str, str]) -> tuple[Setting, ...]:
    """LMCache's settings besides those that the deployment has itself."""
    return tuple(
        Setting(name, value, ENVIRONMENT)
        for name, value in sorted(environment.items())
        if name.startswith("LMCACHE_")
    )


def _lmcache_names(deployment: Deployment) -> tuple[str, ...]:
    """LMCache's keys, and the variables that are named as if LMCache read them."""
    keys = [setting.name for setting in deployment.lmcache]
    keys += [s.name for s in deployment.env if s.name.startswith(("LMCACHE_", "LM_CACHE_"))]
    return tuple(keys)


def _world_size(deployment: Deployment) -> int:
    # A virtual machine must have as many GPUs as the deployment wants, or vLLM would object.
    product = 1
    for name in ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"):
        setting = deployment.vllm_setting(name)
        if setting is not None and isinstance(setting.value, int):
            product *= max(1, setting.value)
    return max(product, deployment.target.gpus or 1)


def _failure(error: DryBootFailedError) -> str:
    last = "\n".join(error.evidence[-8:])
    return f"the dry boot {error} while it was busy with: {error.stage}" + (
        f"\nits last lines:\n{last}" if last else ""
    )


def _unknown(
    document: Document,
    reason: str,
    *,
    finding: Finding | None = None,
    failed: bool = False,
) -> Checked:
    found = [*document.findings, *([] if finding is None else [finding])]
    verdict = Verdict(Decision.UNKNOWN, None, None, reason.partition("\n")[0])
    return Checked(
        document.source,
        document.deployment,
        verdict,
        sorted_findings(found),
        failure=reason if failed else None,
    )
