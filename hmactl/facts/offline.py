"""What the catalogue says of a deployment, in the form of an engine's answer.

What it cannot know is missing in the answer, as in any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hmactl.catalogue.connector_versions import (
    Child,
    Support,
    connector_support,
    releases_around,
    vllm_releases,
)
from hmactl.catalogue.estimate import Estimate, Question, estimate
from hmactl.catalogue.flags import Flags, vllm_flags
from hmactl.catalogue.gpus import Gpu
from hmactl.deployment.command import serve_environment
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.setting import Area, Setting
from hmactl.engine.answer import (
    Answer,
    ConnectorAnswer,
    FlagProblem,
    LayerKind,
    LMCacheSettings,
    Plan,
    Plans,
    Versions,
)
from hmactl.engine.decode import decode
from hmactl.facts.lmcache_offline import Written, lmcache_settings
from hmactl.facts.transfer import written_connector

_COUNTS = {
    "tensor-parallel-size": "tensor_parallel_size",
    "pipeline-parallel-size": "pipeline_parallel_size",
    "decode-context-parallel-size": "decode_context_parallel_size",
    "block-size": "block_size",
    "max-model-len": "max_model_len",
    "max-num-batched-tokens": "max_num_batched_tokens",
    "max-num-seqs": "max_num_seqs",
    "mamba-block-size": "mamba_block_size",
    "num-gpu-blocks-override": "num_gpu_blocks_override",
}
_WORDS = {
    "dtype": "dtype",
    "kv-cache-dtype": "kv_cache_dtype",
    "mamba-cache-mode": "mamba_cache_mode",
    "mamba-cache-dtype": "mamba_cache_dtype",
    "mamba-ssm-cache-dtype": "mamba_ssm_cache_dtype",
    "attention-backend": "attention_backend",
}
_SWITCHES = {
    "enable-prefix-caching": "prefix_caching",
    "async-scheduling": "async_scheduling",
}
# What else changes the plan; where it is set, there is no estimate.
_BEYOND = frozenset(
    {
        *("hf-overrides", "attention-config", "compilation-config", "cache-config"),
        *("quantization", "model-impl", "runner", "convert", "hf-config-path", "config-format"),
        *("kv-cache-memory-bytes", "revision", "load-format", "scheduler-config"),
    }
)


_CONFIG_FILE = "LMCACHE_CONFIG_FILE"
# vLLM-Omni, a plugin of vLLM's with options of its own, is called by this one.
_PLUGIN = "omni"


@dataclass(frozen=True, slots=True)
class Offline:
    """What is asked without an engine.

    ``vllm`` and ``lmcache`` are versions, None where not known. ``config`` is the model's
    config.json, ``memory`` the KV cache memory of every GPU in bytes.
    """

    deployment: Deployment
    vllm: str | None
    lmcache: str | None
    gpu: Gpu | None
    config: dict[str, Any] | None = None
    memory: int | None = None
    file: LMCacheFile | None = None


def offline_answer(asked: Offline) -> tuple[Answer, str | None]:
    """The catalogue's answer, and why there is no plan in it, None where there is one."""
    deployment = asked.deployment
    connector = written_connector(deployment)
    flags = vllm_flags(asked.vllm)
    found, unknown = _plan(asked)
    plan = _plans(found)
    answer = Answer(
        error=None,
        versions=Versions(
            vllm=asked.vllm or "",
            vllm_path="",
            lmcache=asked.lmcache,
            torch="",
            transformers=None,
            python="",
            python_path="",
        ),
        flag_problems=tuple(_flag_problems(deployment, flags)),
        connectors=_registered(asked.vllm),
        connector=None if connector is None else _connector(asked, connector),
        layers=tuple(tuple(decode(LayerKind, kind) for kind in stage) for stage in found.layers),
        plan=plan,
        lmcache=_lmcache(asked, connector),
    )
    return answer, unknown


def _flag_problems(deployment: Deployment, flags: Flags) -> Iterator[FlagProblem]:
    """Options that no release has that it may be, and values that none of them takes."""
    if any(setting.name == _PLUGIN for setting in deployment.vllm):
        return
    for index, setting in enumerate(deployment.vllm):
        name = setting.name.partition(".")[0]
        dashes = "--" if len(name) > 1 else "-"
        flag = flags.find(dashes + name)
        if flag is None and name.removeprefix("O").isdigit():
            continue
        if flag is None:
            similar = flags.similar(dashes + name)
            if not any(spelling.startswith(dashes + name) for spelling in flags.spellings()):
                yield FlagProblem(
                    index=index, kind="unknown", message=dashes + name, similar=similar
                )
        elif setting.value is False and f"--no-{flag.name}" not in flags and flag.takes is not None:
            message = f"--no-{flag.name}"
            yield FlagProblem(index=index, kind="not-boolean", message=message, similar=())
        elif flag.takes == "nothing" and not isinstance(setting.value, bool | None):
            message = f"--{flag.name} takes no value, and `{setting.value}` is given"
            yield FlagProblem(index=index, kind="value", message=message, similar=())
        elif flag.choices and flag.takes == "one" and not _is_among(setting, flag.choices):
            listed = ", ".join(flag.choices)
            message = f"argument --{flag.name}: `{setting.value}` is none of {listed}"
            yield FlagProblem(index=index, kind="value", message=message, similar=())


def _is_among(setting: Setting, choices: tuple[str, ...]) -> bool:
    value = setting.value
    return isinstance(value, bool | dict | list) or str(value) in choices


def _registered(vllm: str | None) -> tuple[str, ...]:
    if vllm is None:
        return ()
    releases = releases_around(vllm)
    return tuple(sorted({name for release in releases for name in release.connectors}))


def _connector(asked: Offline, connector: Connector) -> ConnectorAnswer:
    children = tuple(_connector(asked, child) for child in connector.children)
    support = _support(asked, connector)
    return ConnectorAnswer(
        name=connector.name,
        role=connector.role,
        module=None if support is None else support.module,
        class_=None if support is None else support.class_name,
        file=None,
        supports_hma=None if support is None else support.supports_hma,
        error=None,
        children=children,
    )


def _support(asked: Offline, connector: Connector) -> Support | None:
    """That of the version; where it is not known, what all of them say alike."""
    releases = [r.version for r in vllm_releases()] if asked.vllm is None else [asked.vllm]
    found = [
        connector_support(
            release,
            asked.lmcache,
            connector.name,
            environment=serve_environment(asked.deployment),
            module_path=connector.module_path,
            children=[_child(child) for child in connector.children] or None,
        )
        for release in releases
    ]
    return found[-1] if len({support.supports_hma for support in found}) == 1 else None


def _child(connector: Connector) -> Child:
    return Child(connector.name, connector.module_path, tuple(map(_child, connector.children)))


def _lmcache(asked: Offline, connector: Connector | None) -> LMCacheSettings | None:
    deployment = asked.deployment
    hidden = [u.name for u in deployment.unknown if u.area is Area.ENV]
    keys = [setting.name for setting in deployment.lmcache]
    variables = [s.name for s in deployment.env if s.name.startswith(("LMCACHE_", "LM_CACHE_"))]
    used = connector is not None and any("LMCache" in one.name for one in connector.walk())
    server = deployment.lmcache_server is not None
    if not (used or keys or variables or server or asked.file):
        return None
    written = Written(
        environment=serve_environment(deployment),
        names=(*keys, *variables),
        file=asked.file,
        connector=connector,
        server=server,
        unknown=frozenset(
            name.removeprefix("LMCACHE_").lower()
            for name in hidden
            if name is not None and name.startswith("LMCACHE_")
        ),
        others_unknown=None in hidden,
        file_unknown=_CONFIG_FILE not in variables
        and deployment.is_unknown(Area.ENV, _CONFIG_FILE),
    )
    return lmcache_settings(written, asked.lmcache, asked.vllm)


def _plan(asked: Offline) -> tuple[Estimate, str | None]:
    """The estimate, and why there is none."""
    deployment = asked.deployment
    if asked.config is None:
        missing = f"the catalogue has no config of `{deployment.model.value}`"
        return Estimate(unknown=missing), missing
    beyond = sorted(_BEYOND.intersection(s.name for s in deployment.vllm))
    hidden = [u for u in deployment.unknown if u.area is Area.VLLM]
    reason: str | None = None
    if beyond:
        reason = f"no estimate is made with `--{beyond[0]}`"
    elif hidden:
        reason = f"`{hidden[0].text}` is not known"
    question = None if reason else _question(asked, asked.config)
    if question is None:
        reason = reason or "a number among vLLM's options cannot be read"
        return Estimate(unknown=reason), reason
    found = _estimated(str(deployment.model.value), question)
    return found, found.unknown


@lru_cache(maxsize=1024)
def _estimated(_model: str, question: Question) -> Estimate:
    """Many files of a repository are about the same model in the same way.

    A question's hash leaves out the config, in whose place is the name.
    """
    return estimate(question)


def _question(asked: Offline, config: dict[str, Any]) -> Question | None:
    """None where a setting is written in a way that only vLLM reads."""
    deployment = asked.deployment
    given: dict[str, Any] = {}
    for option, field in _COUNTS.items():
        setting = deployment.vllm_setting(option)
        if setting is None:
            continue
        if isinstance(setting.value, bool) or not isinstance(setting.value, int):
            return None
        given[field] = setting.value
    for option, field in _WORDS.items():
        if (setting := deployment.vllm_setting(option)) is not None:
            given[field] = str(setting.value)
    for option, field in _SWITCHES.items():
        if (setting := deployment.vllm_setting(option)) is not None:
            if not isinstance(setting.value, bool):
                return None
            given[field] = setting.value
    return Question(
        config=config,
        vllm=asked.vllm,
        gpu=asked.gpu,
        memory=asked.memory,
        speculative=deployment.vllm_setting("speculative-config") is not None,
        **given,
    )


def _plans(found: Estimate) -> Plans | None:
    if found.unknown is not None or found.hma_on is None or found.hma_off is None:
        return None
    return Plans(hma_on=decode(Plan, found.hma_on), hma_off=decode(Plan, found.hma_off))
