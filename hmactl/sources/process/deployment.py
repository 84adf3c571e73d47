"""From processes to deployments: the same reading for every form that starts processes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hmactl.catalogue.flags import Flags, lmcache_server_flags
from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.deployment import Deployment, LMCacheServer
from hmactl.deployment.policy import HmaPolicy, asked_by_option
from hmactl.deployment.setting import DEFAULT, Area, Origin, Setting, Unknown
from hmactl.finding import Finding, Severity
from hmactl.sources.document import Document
from hmactl.sources.given import ReadFile
from hmactl.sources.process.arguments import Arguments, read_arguments
from hmactl.sources.process.process import Process
from hmactl.sources.process.program import Command, Program, find_command
from hmactl.sources.process.shells import behind_shells
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.vllm_config import VllmConfig, read_vllm_config
from hmactl.sources.wording import shortened

_MODEL = frozenset({"model", "model-tag"})
_CONFIG = "config"
_MP_CONNECTOR = "LMCacheMPConnector"
_NO_CONFIG = VllmConfig(None, (), ())


@dataclass(frozen=True, slots=True)
class _Server:
    process: Process
    command: Command
    arguments: Arguments


def documents(
    processes: Iterable[Process], flags: Flags, read_file: ReadFile = lambda _path: None
) -> tuple[Document, ...]:
    """A document for every vLLM server among the processes of one source, in their order.

    ``flags`` are vLLM's options. A ``lmcache server`` among the processes is the LMCache server of
    those that use LMCacheMPConnector.
    """
    servers = [
        _Server(process, command, _arguments(command, flags))
        for started in processes
        for process in behind_shells(started)
        if (command := find_command(process.argv)) is not None
    ]
    companions = [s for s in servers if s.command.program is Program.LMCACHE_SERVER]
    engines = [s for s in servers if s.command.program is not Program.LMCACHE_SERVER]
    return tuple(
        _document(index, engine, companions, read_file) for index, engine in enumerate(engines)
    )


def _arguments(command: Command, flags: Flags) -> Arguments:
    if command.program is Program.LMCACHE_SERVER:
        return read_arguments(command.arguments, lmcache_server_flags(), Area.LMCACHE_SERVER)
    return read_arguments(command.arguments, flags)


def _document(
    index: int, engine: _Server, companions: Sequence[_Server], read_file: ReadFile
) -> Document:
    process, arguments = engine.process, engine.arguments
    config, unread = _config(arguments, process, read_file)
    settings = [*config.settings, *(s for s in arguments.settings if s.name != _CONFIG)]
    unknown = [*process.unknown, *arguments.unknown, *unread]
    findings = [*process.findings, *config.findings, *arguments.findings]
    model, surplus = _model(engine, config)
    for word in surplus:
        if word.known:
            findings.append(_surplus(word))
        else:
            unknown.append(Unknown(Area.VLLM, None, word.text, word.origin, word.needs))
    if model is None:
        word = _unknown_model(engine)
        model = Setting("model", None, word.origin)
        unknown.append(Unknown(Area.MODEL, "model", word.text, word.origin, word.needs))
        if word.several:
            unknown.append(Unknown(Area.VLLM, None, word.text, word.origin, word.needs))
    env, unknown_env = _environment((*process.environment, *engine.command.assignments))
    policy, policy_origin = _policy(settings)
    deployment = Deployment(
        source=process.source,
        name=process.name,
        model=model,
        vllm=tuple(
            s for s in settings if asked_by_option(s.name, s.value) is None and s.name not in _MODEL
        ),
        hma=policy,
        hma_origin=policy_origin,
        env=env,
        target=process.target,
        unknown=(*unknown, *unknown_env),
        form=process.form,
        files=process.files,
    )
    server = _companion(deployment, companions)
    if server is not None:
        # What starts in one container has one and the same target.
        target = server.process.target
        deployment = replace(
            deployment,
            target=replace(deployment.target, lmcache_server_version=target.lmcache),
            lmcache_server=LMCacheServer(
                server.process.argv[0].origin,
                options=server.arguments.settings,
                apart=target is not process.target,
                memory_limit=target.memory_limit,
            ),
            unknown=(*deployment.unknown, *server.arguments.unknown),
        )
        findings += [*server.process.findings, *server.arguments.findings]
    findings.sort(key=lambda f: (f.origin.source, f.origin.line or 0, f.origin.column or 0))
    return Document(process.source, index, deployment, tuple(findings))


def _config(
    arguments: Arguments, process: Process, read_file: ReadFile
) -> tuple[VllmConfig, list[Unknown]]:
    """What ``--config FILE`` holds; where it cannot be read, anything may be set in it."""
    setting = next((s for s in reversed(arguments.settings) if s.name == _CONFIG), None)
    if setting is None:
        return _NO_CONFIG, []
    path = str(setting.value)
    file = next((f for f in process.files if f.path == path), None) or read_file(path)
    if file is None:
        return _NO_CONFIG, [Unknown(Area.VLLM, None, f"--config {path}", setting.origin)]
    return read_vllm_config(file), []


def _model(engine: _Server, config: VllmConfig) -> tuple[Setting | None, tuple[Word, ...]]:
    """The model, None where it is not known, and the words that belong to nothing.

    ``--model`` wins over the positional model, which vLLM's parser moves behind it.
    """
    positional = engine.arguments.positional
    named = [s for s in engine.arguments.settings if s.name in _MODEL]
    unknown = any(u.name in _MODEL for u in engine.arguments.unknown)
    if engine.command.program is Program.API_SERVER or named or unknown:
        if unknown:
            return None, positional
        model = Setting("model", named[-1].value, named[-1].origin) if named else config.model
        return model, positional
    if positional:
        word = positional[0]
        model = Setting("model", word.text, word.origin) if word.known else None
        return model, positional[1:]
    return config.model, ()


def _unknown_model(engine: _Server) -> Word:
    """What stands in the model's place."""
    for unknown in engine.arguments.unknown:
        if unknown.name in _MODEL:
            return Word(unknown.text, unknown.origin, False, unknown.needs)
    for word in engine.arguments.positional:
        if not word.known:
            return word
    return Word("(no model is named)", engine.process.argv[0].origin, known=False)


def _environment(
    variables: Sequence[Variable],
) -> tuple[tuple[Setting, ...], tuple[Unknown, ...]]:
    """The last value of each variable: known ones, and those that are not."""
    last = {variable.name: variable for variable in variables}
    known = tuple(Setting(v.name, v.value.text, v.origin) for v in last.values() if v.value.known)
    unknown = tuple(
        Unknown(Area.ENV, v.name, v.value.text, v.origin, v.value.needs)
        for v in last.values()
        if not v.value.known
    )
    return known, unknown


def _policy(settings: Sequence[Setting]) -> tuple[HmaPolicy, Origin]:
    """What the operator's own flag asks of HMA; the last one counts."""
    for setting in reversed(settings):
        if (policy := asked_by_option(setting.name, setting.value)) is not None:
            return policy, setting.origin
    return HmaPolicy.AUTO, DEFAULT


def _companion(deployment: Deployment, companions: Sequence[_Server]) -> _Server | None:
    config = deployment.vllm_setting(KV_TRANSFER_CONFIG)
    if config is None or _MP_CONNECTOR not in str(config.value):
        return None
    return companions[0] if companions else None


def _surplus(word: Word) -> Finding:
    return Finding(
        "CLI006",
        Severity.ERROR,
        f"`{shortened(word.text)}` belongs to no option of `vllm serve`",
        "vLLM's parser refuses the command line",
        "remove it, or write the option in front of it; a value with blanks needs quotes, and a "
        "line that goes on needs a backslash as its very last character",
        word.origin,
    )
