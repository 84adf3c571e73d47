"""Run with the target interpreter: ``python .../dryboot ANSWER_FD``, request on stdin.

Loads its own package under a private name, so that nothing of hmactl is importable beside it and
none of its module names can shadow the engine's.
"""

import ctypes
import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def _load() -> None:
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    spec = importlib.util.spec_from_file_location(
        "hmactl_dryboot", here / "__init__.py", submodule_search_locations=[str(here)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {here}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["hmactl_dryboot"] = package
    spec.loader.exec_module(package)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    _end_with_parent()
    _load()
    program = importlib.import_module("hmactl_dryboot.program")
    protocol = importlib.import_module("hmactl_dryboot.protocol")
    program.run(protocol.Channel(int(sys.argv[1])))
    # Interpreter shutdown of torch takes seconds and can crash; everything has been said.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
