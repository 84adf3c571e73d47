"""Verify a running server: wait for it, ask it, hold it against the plan."""

import time
from collections.abc import Callable

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
    probe: Callable[[Found], tuple[Comparison, ...]] | None = None,
) -> Verification:
    """Wait up to ``wait`` seconds for the server's health, then compare it with the plan.

    ``probe`` sends it requests of its own.
    """
    shown = redact(server.url)
    found: Found | None = None
    comparisons: tuple[Comparison, ...] = ()
    try:
        _wait(server, wait)
        found = read_found(server, log)
        comparisons = compare(planned, found)
        if probe is not None:
            comparisons += probe(found)
    except (NoAnswerError, CannotProbeError) as error:
        return Verification(
            server=shown,
            version=None if found is None else found.version,
            comparisons=comparisons,
            failure=redact(str(error)),
        )
    return Verification(server=shown, version=found.version, comparisons=comparisons)


def why_no_probe(planned: DeploymentReport | None, found: Found) -> str | None:
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
