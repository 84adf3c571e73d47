"""Verify a running server: wait for it, ask it, hold it against the plan."""

import time
from collections.abc import Callable, Iterable

from hmactl.launch.verify.compare import compare
from hmactl.launch.verify.found import Found, read_found
from hmactl.launch.verify.log import Log
from hmactl.launch.verify.probe_size import CannotProbeError
from hmactl.launch.verify.result import Comparison, Verification
from hmactl.launch.verify.server import NoAnswerError, Server
from hmactl.report.model import DeploymentReport
from hmactl.report.redact import redact

_PAUSE = 1.0
# What a server that starts, or a proxy in front of it, answers.
_NOT_YET = frozenset({None, 502, 503, 504})


def verify(
    server: Server,
    planned: DeploymentReport | None,
    log: Log | None,
    *,
    wait: float,
    probe: Callable[[Found], Iterable[Comparison]] | None = None,
) -> Verification:
    """Wait up to ``wait`` seconds for the server's health, then compare it with the plan.

    ``probe`` sends it requests of its own.
    """
    shown = redact(server.url)
    found: Found | None = None
    comparisons: list[Comparison] = []
    failure: str | None = None
    try:
        _wait(server, wait)
        found = read_found(server, log)
        comparisons += compare(planned, found)
        if probe is not None:
            # What was learnt before it could not go on counts, too.
            for one in probe(found):
                comparisons.append(one)
    except (NoAnswerError, CannotProbeError) as error:
        failure = redact(str(error))
    return Verification(
        server=shown,
        version=None if found is None else found.version,
        comparisons=tuple(comparisons),
        failure=failure,
    )


def why_no_hits(planned: DeploymentReport | None, found: Found) -> str | None:
    """Why nothing can come from outside the GPU, where that is known."""
    name, role = None, None
    if found.connector is not None:
        name, role = found.connector.name or "none", found.connector.role
    elif planned is not None and planned.engine is not None:
        name = "none" if planned.connector is None else planned.connector.name
        role = None if planned.connector is None else planned.connector.role
    if name == "none":
        return "there is no connector, so nothing can come from outside the GPU"
    if role == "kv_producer":
        return f"{name} is a kv_producer here, which loads nothing"
    return None


def plans_no_hits(planned: DeploymentReport | None) -> bool:
    """Whether the plan itself has no connector that could load anything."""
    if planned is None or planned.engine is None:
        return False
    return planned.connector is None or planned.connector.role == "kv_producer"


def _wait(server: Server, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            server.text("/health")
        except NoAnswerError as error:
            if error.status not in _NOT_YET or time.monotonic() + _PAUSE > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return
