"""The command that a container runs, where the image starts a server by itself."""

from collections.abc import Sequence
from dataclasses import replace

from hmactl.finding import Finding, Severity
from hmactl.sources.image import container_argv, serves_by_itself, split_image
from hmactl.sources.process.program import find_command
from hmactl.sources.process.word import Word
from hmactl.sources.wording import shortened

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_PROGRAMS = _SHELLS | {"vllm", "serve", "python", "python3", "env", "lmcache"}
_OF_VLLM = frozenset({"--kv-transfer-config", "--max-model-len", "--gpu-memory-utilization"})
_SCRIPTS = (".sh", ".py")
_OF_THE_PROJECTS = frozenset({"vllm/vllm-openai", "lmcache/vllm-openai"})


def container_start(
    image: Word | None, entrypoint: Sequence[Word] | None, arguments: Sequence[Word]
) -> tuple[tuple[Word, ...], tuple[Finding, ...]]:
    """The container's command, and K8S020 where it repeats what the image starts.

    ``entrypoint`` None leaves the image's own. Where the arguments are a command themselves, that
    command is meant, and vLLM's and LMCache's own images would hand it to ``vllm serve``.
    """
    if entrypoint is None and image is not None and image.known and arguments:
        first = arguments[0]
        program = first.text.rpartition("/")[2] if first.known else ""
        if program in _PROGRAMS and serves_by_itself(image.text):
            argv = tuple(arguments)
            if program == "serve":
                argv = _served(image, argv[1:])
            return argv, _repeated(image, first)
    argv = container_argv(image, entrypoint, arguments)
    if entrypoint is None and find_command(argv) is None and _for_vllm(argv):
        return _served(image or argv[0], argv), ()
    return argv, ()


def _served(image: Word, arguments: tuple[Word, ...]) -> tuple[Word, ...]:
    serve = (replace(image, text=text, known=True, places=None) for text in ("vllm", "serve"))
    return (*serve, *arguments)


def _for_vllm(arguments: tuple[Word, ...]) -> bool:
    """Whether the words begin with a model and go on with options that only vLLM has."""
    if not arguments:
        return False
    first = arguments[0].text
    if first.rpartition("/")[2] in _PROGRAMS or first.endswith(_SCRIPTS):
        return False
    options = {word.text.partition("=")[0].replace("_", "-") for word in arguments}
    return not options.isdisjoint(_OF_VLLM) and not (options & {"-c", "-lc", "-m"})


def _repeated(image: Word, first: Word) -> tuple[Finding, ...]:
    if "/".join(split_image(image.text)[0].split("/")[-2:]) not in _OF_THE_PROJECTS:
        return ()
    return (
        Finding(
            "K8S020",
            Severity.ERROR,
            f"the command begins with `{shortened(first.text)}`, and {shortened(image.text)} puts "
            "`vllm serve` in front of it",
            f"vLLM gets `{shortened(first.text)}` as its model and the rest as further arguments, "
            "and ends with a usage error",
            "write only the arguments of `vllm serve`, the model first; or give the whole command "
            "as the entrypoint",
            first.origin,
        ),
    )
