"""What ``hmactl serve`` starts: the server's argv and the variables that are added for it."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from hmactl.deployment.command import serve_arguments, serve_environment
from hmactl.deployment.deployment import Deployment
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine
from hmactl.launch.hash_seed import VARIABLE

HMA_FLAGS = frozenset(
    f"{prefix}-hybrid-kv-cache-manager" for prefix in ("--disable", "--no-disable", "--enable")
)


@dataclass(frozen=True, slots=True)
class Launch:
    """A server to start. ``added`` are the variables on top of the caller's environment."""

    argv: tuple[str, ...]
    added: Mapping[str, str]


def plan_launch(
    deployment: Deployment,
    engine: Engine,
    flag: str | None,
    extra: Sequence[str],
    environment: Mapping[str, str],
    *,
    seed: str | None = None,
) -> Launch:
    """The launch of a deployment with the explicit HMA ``flag`` of its verdict.

    ``extra`` arguments come before the flag, so nothing after it can undo what was checked.
    ``seed`` is that of ``hash_seed``.
    """
    if engine.vllm_script is not None:
        program = [str(engine.vllm_script)]
    else:
        program = [str(engine.python), "-m", "vllm.entrypoints.cli.main"]
    decision = [] if flag is None else [flag]
    added = {} if seed is None else {VARIABLE: seed}
    added |= serve_environment(deployment)
    added |= bridge_environment(engine, {**environment, **added})
    return Launch((*program, "serve", *serve_arguments(deployment), *extra, *decision), added)


def execute(launch: Launch, environment: Mapping[str, str]) -> NoReturn:
    """Become the server: same process, so signals and exit status are its own.

    Raises OSError where the program cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # A shell that starts jobs in the background leaves SIGINT ignored, and exec would keep that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(  # noqa: S606 - no shell is the point
        launch.argv[0], list(launch.argv), {**environment, **launch.added}
    )
