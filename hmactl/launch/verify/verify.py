"""Verify a running server: wait for it, ask it, hold it against the plan."""

import time
from collections.abc import Callable

from hmactl.launch.verify.compare import compare
from hmactl.launch.verify.found import Found, read_found
from hmactl.launch.verify.log import Log
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

    ``probe`` asks it further, which is only done where everything else is as planned or unknown.
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
    except NoAnswerError as error:
        return Verification(
            server=shown,
            version=None if found is None else found.version,
            comparisons=comparisons,
            failure=redact(str(error)),
        )
    return Verification(server=shown, version=found.version, comparisons=comparisons)


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
