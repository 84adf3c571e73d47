"""Run with the target interpreter: ``python .../dryboot ANSWER_FD``, requests on stdin.

Loads its own package under a private name, so that nothing of hmactl is importable beside it and
none of its module names can shadow the engine's.
"""

import importlib
import importlib.util
import sys
from pathlib import Path


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


if __name__ == "__main__":
    _load()
    lifetime = importlib.import_module("hmactl_dryboot.lifetime")
    lifetime.end_with_parent()
    program = importlib.import_module("hmactl_dryboot.program")
    protocol = importlib.import_module("hmactl_dryboot.protocol")
    program.run(protocol.Channel(int(sys.argv[1])))
    lifetime.leave()
