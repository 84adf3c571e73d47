"""Ask an installed engine about deployments: the dry boot, from questions to answers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Protocol, Self

from hmactl.catalogue.gpus import Gpu
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.engine.answer import Answer
from hmactl.engine.answer_cache import AnswerCache, answer_key, content_of
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.child import DryBoot, Limits
from hmactl.engine.decode import decode
from hmactl.engine.find import Engine
from hmactl.engine.model_config import ModelConfigError
from hmactl.engine.model_origin import ModelConfig, ModelOrigin

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


# Loaded engines that are kept at a time, each of about 0.7 GB.
_MOST_BOOTS = 2
# vLLM only minds if there are fewer GPUs than ranks, so most deployments can share a machine.
_FEWEST_GPUS = 8


class Memory(Protocol):
    """KV cache memory in bytes per rank."""

    @property
    def bytes_per_rank(self) -> tuple[int, ...]:
        """One for each pipeline stage."""
        ...


FindModel = Callable[[str, str | None], ModelConfig]
"""The config of a model by its name and revision. Raises ModelConfigError."""


@dataclass(frozen=True, slots=True)
class Question:
    """One deployment as the dry boot needs it.

    ``flags`` are (option name, its arguments) in order; ``extra`` further arguments. ``gpu`` None
    is the plain CPU platform, ``gpus`` how many there are. ``environment`` is the server's.
    ``kv_cache_memory`` is the operator's figure, for which ``size_memory`` will answer.
    ``arguments_only`` stops after the command line and the LMCache keys were checked.
    ``lmcache_server`` are the arguments of `lmcache server`, where the deployment has one.
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
    kv_cache_memory: int | None = None
    lmcache_file: LMCacheFile | None = None
    lmcache_server: tuple[str, ...] | None = None


class Session:
    """One engine, asked about any number of deployments.

    The engine is loaded once for each kind of GPU and environment, which is nearly all that an
    answer costs. ``answers`` are those of earlier sessions. As a context manager it leaves nothing
    running.
    """

    def __init__(self, engine: Engine, limits: Limits, answers: AnswerCache | None = None) -> None:
        self._engine = engine
        self._answers = answers
        self._limits = limits
        self._boots: dict[str, DryBoot] = {}
        # vLLM caches what it learns of model classes and forgets for which platform.
        self._cache = TemporaryDirectory(prefix="hmactl-cache-")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for boot in self._boots.values():
            boot.end()
        self._boots.clear()
        self._cache.cleanup()

    def ask(
        self,
        question: Question,
        *,
        on_stage: Callable[[str], None],
        size_memory: Callable[[Answer], Memory],
        find_model: FindModel | None = None,
    ) -> Answer:
        """The engine's answer.

        ``size_memory`` is called once the engine has told its configuration and weights, and says
        how many bytes of KV cache memory each rank has. ``find_model`` is called for each model
        that the deployment needs besides its own, such as a draft; without it the engine looks for
        them by itself. Raises DryBootFailedError, and ModelConfigError as ``find_model`` does.
        """

        environment = self._environment(question)
        key = self._answer_key(question, environment)
        if (known := self._known(key, size_memory, find_model)) is not None:
            return known
        memory: list[Memory] = []
        further = _FurtherModels(find_model)

        def on_ask(asked: str, facts: dict[str, Any]) -> dict[str, Any]:
            if asked == "model":
                return further.reply(facts["model"], facts["revision"])
            memory.append(size_memory(decode(Answer, facts)))
            return {"bytes_per_rank": memory[-1].bytes_per_rank}

        boot_key = _boot_key(question, environment)
        try:
            boot = self._boot(boot_key, question, environment)
            request = _request(question) | {"environment": environment}
            answer = boot.ask(request, on_stage=on_stage, on_ask=on_ask)
        except BaseException:
            # Whatever ended this answer, the child is in no state to give another.
            if boot_key in self._boots:
                self._boots.pop(boot_key).end()
            raise
        if further.refusal is not None:
            raise further.refusal
        parsed = decode(Answer, answer)
        if self._answers is not None and key is not None:
            sizes = list(memory[-1].bytes_per_rank) if memory else None
            kept = {"answer": answer, "bytes_per_rank": sizes, "models": further.found}
            self._answers.put(key, kept)
        return parsed

    def _answer_key(self, question: Question, environment: Mapping[str, str]) -> str | None:
        if self._answers is None:
            return None
        request = _request(question) | {
            "gpu": _gpu(question),
            "kv_cache_memory": question.kv_cache_memory,
        }
        return answer_key(self._engine, request, question.model_directory, environment)

    def _known(
        self,
        key: str | None,
        size_memory: Callable[[Answer], Memory],
        find_model: FindModel | None,
    ) -> Answer | None:
        """An earlier answer, if its further models and the memory for its plan are the same."""
        if self._answers is None or key is None or (kept := self._answers.get(key)) is None:
            return None
        further = _FurtherModels(find_model)
        try:
            answer = decode(Answer, kept["answer"])
            for model in kept["models"]:
                further.reply(model["model"], model["revision"])
            same_models = further.found == kept["models"]
        except (KeyError, TypeError, ValueError):
            return None
        if further.refusal is not None:
            raise further.refusal
        if not same_models:
            return None
        if answer.plan is None:
            return answer
        same = list(size_memory(answer).bytes_per_rank) == kept.get("bytes_per_rank")
        return answer if same else None

    def _environment(self, question: Question) -> dict[str, str]:
        environment = dict(question.environment)
        # Which of a machine's GPUs the server may use says nothing about the virtual ones, and a
        # Triton that has them named looks for their driver.
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        environment |= bridge_environment(self._engine, environment)
        return environment | _ENVIRONMENT | {"VLLM_CACHE_ROOT": self._cache.name}

    def _boot(self, key: str, question: Question, environment: dict[str, str]) -> DryBoot:
        if key not in self._boots:
            while len(self._boots) >= _MOST_BOOTS:
                self._boots.pop(next(iter(self._boots))).end()
            hello = {"gpu": _gpu(question)}
            self._boots[key] = DryBoot(self._engine.python, hello, environment, self._limits)
        return self._boots[key]


class _FurtherModels:
    """Answers the dry boot's questions for models. ``found`` says which, and what tells them.

    ``refusal`` is why one was not found; it is kept until the dry boot has come to its end.
    """

    def __init__(self, find: FindModel | None) -> None:
        self._find = find
        self.found: list[dict[str, Any]] = []
        self.refusal: ModelConfigError | None = None

    def reply(self, model: str, revision: str | None) -> dict[str, Any]:
        if self._find is None:
            return {"found": True, "directory": None}
        try:
            config = self._find(model, revision)
        except ModelConfigError as error:
            self.refusal = error
            return {"found": False, "directory": None}
        content = content_of(config.directory)
        self.found.append({"model": model, "revision": revision, "content": content})
        # The engine finds a directory of the operator's by itself.
        local = config.origin is ModelOrigin.DIRECTORY
        return {"found": True, "directory": None if local else str(config.directory)}


def _boot_key(question: Question, environment: Mapping[str, str]) -> str:
    """Equal for questions that one loaded engine can answer.

    LMCache reads its settings when a connector is made, and PyTorch those of its allocator at the
    first allocation on a GPU, so they may differ; vLLM reads some of its variables when it is
    imported.
    """
    ignored = ("LMCACHE_", "PYTHONHASHSEED", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    kept = {k: v for k, v in environment.items() if not k.startswith(ignored)}
    return json.dumps([_gpu(question), kept], sort_keys=True)


def _request(question: Question) -> dict[str, Any]:
    return {
        "model": question.model,
        "model_directory": None
        if question.model_directory is None
        else str(question.model_directory.resolve()),
        "flags": [
            {"name": name, "arguments": list(arguments)} for name, arguments in question.flags
        ],
        "extra": list(question.extra),
        "lmcache_keys": list(question.lmcache_keys),
        "lmcache_file": _lmcache_file(question.lmcache_file),
        "lmcache_server": None
        if question.lmcache_server is None
        else list(question.lmcache_server),
        "arguments_only": question.arguments_only,
    }


def _lmcache_file(file: LMCacheFile | None) -> dict[str, Any] | None:
    """The text is in the request, so that answers are not kept beyond an edit of the file."""
    if file is None:
        return None
    keys = [setting.name for setting in file.settings]
    return {"path": file.path, "text": file.text, "keys": keys}


def _gpu(question: Question) -> dict[str, Any] | None:
    if question.gpu is None:
        return None
    return virtual_gpu(question.gpu, max(_FEWEST_GPUS, question.gpus))


def virtual_gpu(gpu: Gpu, count: int) -> dict[str, Any]:
    """What the dry boot is told of ``count`` virtual GPUs of that kind."""
    return {
        "name": gpu.name,
        "capability": gpu.capability,
        "memory": gpu.memory,
        "usable_memory": gpu.usable_memory,
        "sm_count": gpu.sm_count,
        "shared_memory": gpu.shared_memory,
        "count": count,
    }
