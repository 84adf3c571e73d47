"""Ask an installed engine about one deployment: the dry boot, from a question to an answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from hmactl.catalogue.gpus import Gpu
from hmactl.engine.answer import Answer
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.child import Limits, converse
from hmactl.engine.find import Engine

# What the dry boot sets for itself: nothing leaves the machine, and logs are evidence.
_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LMCACHE_TRACK_USAGE": "false",
    "NO_COLOR": "1",
    "PYTHONSAFEPATH": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


class _Memory(Protocol):
    @property
    def bytes_per_rank(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Question:
    """One deployment as the dry boot needs it.

    ``flags`` are (option name, its arguments) in order; ``extra`` further arguments. ``gpu`` None
    is the plain CPU platform, ``gpus`` how many there are. ``environment`` is the server's.
    ``arguments_only`` stops after the command line and the LMCache keys were checked.
    """

    model: str
    model_directory: Path | None
    flags: tuple[tuple[str, tuple[str, ...]], ...]
    extra: tuple[str, ...]
    gpu: Gpu | None
    gpus: int
    environment: Mapping[str, str]
    lmcache_keys: tuple[str, ...]
    arguments_only: bool


def ask(
    engine: Engine,
    question: Question,
    limits: Limits,
    *,
    on_stage: Callable[[str], None],
    size_memory: Callable[[Answer], _Memory],
) -> Answer:
    """The engine's answer.

    ``size_memory`` is called once the engine has told its configuration and weights, and says how
    many bytes of KV cache memory each rank has. Raises DryBootFailedError.
    """

    def on_ask(_question: str, facts: dict[str, Any]) -> dict[str, Any]:
        memory = size_memory(Answer.model_validate(facts))
        return {"bytes_per_rank": memory.bytes_per_rank}

    # vLLM caches what it learns of model classes and forgets for which platform.
    with TemporaryDirectory(prefix="hmactl-cache-") as cache:
        environment = dict(question.environment)
        environment |= bridge_environment(engine, environment)
        environment |= _ENVIRONMENT | {"VLLM_CACHE_ROOT": cache}
        answer = converse(
            engine.python,
            _request(question),
            environment,
            limits=limits,
            on_stage=on_stage,
            on_ask=on_ask,
        )
    return Answer.model_validate(answer)


def _request(question: Question) -> dict[str, Any]:
    gpu = question.gpu
    return {
        "model": question.model,
        "model_directory": None
        if question.model_directory is None
        else str(question.model_directory.resolve()),
        "flags": [
            {"name": name, "arguments": list(arguments)} for name, arguments in question.flags
        ],
        "extra": list(question.extra),
        "gpu": None
        if gpu is None
        else {
            "name": gpu.name,
            "capability": gpu.capability,
            "memory": gpu.memory,
            "usable_memory": gpu.usable_memory,
            "sm_count": gpu.sm_count,
            "shared_memory": gpu.shared_memory,
            "count": question.gpus,
        },
        "lmcache_keys": list(question.lmcache_keys),
        "arguments_only": question.arguments_only,
    }
