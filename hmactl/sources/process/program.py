"""Which program a command starts: vLLM's server, LMCache's server, or something else."""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto

from hmactl.sources.process.word import Variable, Word

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_API_SERVER = "vllm.entrypoints.openai.api_server"
_VLLM_MAIN = "vllm.entrypoints.cli.main"
_LMCACHE_MODULES = ("lmcache.v1.multiprocess.server", "lmcache.v1.multiprocess.http_server")
_LMCACHE_MAIN = "lmcache.cli.main"


class Program(Enum):
    """What is started. The API server is vLLM's older entry point; it has no positional model."""

    VLLM_SERVE = auto()
    API_SERVER = auto()
    LMCACHE_SERVER = auto()


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, and the variables that stand in front of it (``env A=b``)."""

    program: Program
    arguments: tuple[Word, ...]
    assignments: tuple[Variable, ...]


def find_command(argv: tuple[Word, ...]) -> Command | None:
    """The server that a command starts, behind whatever wrappers stand in front of it.

    None where it starts none that hmactl knows. ``nsys profile vllm serve``, ``env A=b vllm serve``
    and ``timeout 5 python -m vllm...`` all start one; so does ``torchrun ... -m vllm...``.
    """
    for index in range(len(argv)):
        found = _program_at(argv, index)
        if found is not None:
            program, length = found
            return Command(program, argv[index + length :], _assignments(argv[:index]))
    return None


def _program_at(argv: tuple[Word, ...], index: int) -> tuple[Program, int] | None:
    """The program whose name begins with that word, and of how many words the name is."""
    word, following = argv[index], tuple(w.text for w in argv[index + 1 : index + 3] if w.known)
    if not word.known:
        return None
    name = word.text.rpartition("/")[2]
    match (name, *following):
        case ("vllm", "serve", *_):
            return Program.VLLM_SERVE, 2
        case ("lmcache", "server", *_):
            return Program.LMCACHE_SERVER, 2
        case ("-m", module, *rest):
            return _module(module, rest)
    if name == "api_server.py" and "vllm/entrypoints/openai/" in word.text:
        return Program.API_SERVER, 1
    return None


def _module(module: str, following: list[str]) -> tuple[Program, int] | None:
    if module == _API_SERVER:
        return Program.API_SERVER, 2
    if module in _LMCACHE_MODULES:
        return Program.LMCACHE_SERVER, 2
    if module in {_VLLM_MAIN, "vllm"} and following[:1] == ["serve"]:
        return Program.VLLM_SERVE, 3
    if module in {_LMCACHE_MAIN, "lmcache"} and following[:1] == ["server"]:
        return Program.LMCACHE_SERVER, 3
    return None


def _assignments(words: tuple[Word, ...]) -> tuple[Variable, ...]:
    found = []
    for word in words:
        if _ASSIGNMENT.match(word.text):
            name, _, value = word.text.partition("=")
            found.append(Variable(name, replace(word, text=value), word.origin))
    return tuple(found)
