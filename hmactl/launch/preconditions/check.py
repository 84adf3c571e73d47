"""Everything that must hold on this machine before a server is started."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hmactl.engine.gpus import local_gpus
from hmactl.launch.preconditions.engine import Identity, changed_engine
from hmactl.launch.preconditions.files import file_problems
from hmactl.launch.preconditions.gpus import gpu_problems
from hmactl.launch.preconditions.host import this_host
from hmactl.launch.preconditions.limits import limit_problems
from hmactl.launch.preconditions.lmcache_server import lmcache_server_problems
from hmactl.launch.preconditions.ports import port_problems
from hmactl.launch.preconditions.problem import Problem
from hmactl.rules.case import Case


def preconditions(
    case: Case,
    *,
    checked: Identity,
    environment: Mapping[str, str],
    directory: Path,
) -> Iterator[Problem]:
    """What stands in the way, the engine first.

    ``checked`` is the engine's identity before it was checked, ``environment`` the server's whole
    environment, and relative paths are relative to ``directory``.
    """
    facts = case.facts
    yield from changed_engine(checked)
    yield from file_problems(facts, environment, directory)
    # Only a deployment that is planned for a GPU is asked about one: the driver may be slow.
    gpus = None if facts.gpu is None else local_gpus(environment)
    yield from gpu_problems(facts, gpus)
    yield from limit_problems(case, this_host(), directory)
    yield from port_problems(facts, environment)
    yield from lmcache_server_problems(case)
