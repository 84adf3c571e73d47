"""From a checked deployment to its launch: what `serve` does, and says, before it starts one."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from hmactl.checked import Checked
from hmactl.cli.reading import UsageFailure
from hmactl.deployment.deployment import Deployment
from hmactl.engine.answer_cache import cache_directory
from hmactl.engine.find import Engine
from hmactl.launch.companion import NoCompanionError, plan_companion
from hmactl.launch.hash_seed import VARIABLE, hash_seed
from hmactl.launch.launch import Launch, plan_launch
from hmactl.launch.preconditions.check import preconditions
from hmactl.launch.preconditions.engine import Identity
from hmactl.launch.preconditions.text import render_problems
from hmactl.launch.supervise.run import supervise
from hmactl.launch.supervise.service import Service
from hmactl.rules.case import Case
from hmactl.sources.command import read_command


def planned(
    checked: Checked, deployment: Deployment, engine: Engine, extra: Sequence[str]
) -> Launch:
    """The launch under this process's environment; a seed that is added to it is said."""
    seed = None if checked.facts is None else hash_seed(Case(checked.facts, checked.verdict))
    if seed is not None:
        click.echo(
            f"hmactl: {VARIABLE}={seed} is set for the server, which settles LMC009", err=True
        )
    return plan_launch(deployment, engine, checked.verdict.flag, extra, os.environ, seed=seed)


def machine_lacks(
    checked: Checked,
    extra: Sequence[str],
    *,
    before: Identity,
    environment: Mapping[str, str],
    style: Callable[[str, str], str],
) -> bool:
    """Say what this machine lacks for the launch; whether any of it forbids it.

    ``extra`` are further arguments of the server, ``before`` is the engine's identity before the
    check, ``environment`` the server's whole one.
    """
    if checked.facts is None:
        return False
    facts = checked.facts
    facts = replace(facts, deployment=with_arguments(facts.deployment, extra))
    case = Case(facts, checked.verdict)
    problems = list(
        preconditions(case, checked=before, environment=environment, directory=Path.cwd())
    )
    if problems:
        click.echo(render_problems(problems, style), err=True)
    return any(problem.fatal for problem in problems)


def refuse_or_say(
    force: str | None, *, status: int = 1, words: tuple[str, str] = ("launched", "launches")
) -> None:
    """End here, unless the operator forces what ``words`` have, which is then said."""
    done, does = words
    if force is None:
        click.echo(f"hmactl: not {done}; --force REASON {does} it all the same", err=True)
        sys.exit(status)
    click.echo(f"hmactl: {done} in spite of the above, because: {force}", err=True)


def beside(deployment: Deployment, engine: Engine, launch: Launch) -> Launch | None:
    """The LMCache server to start beside that launch of the engine, if the profile wants it.

    Raises UsageFailure where it cannot be had.
    """
    try:
        return plan_companion(deployment, engine, launch.added)
    except NoCompanionError as error:
        raise UsageFailure(str(error)) from None


def stay(
    deployment: Deployment, servers: Sequence[Service], style: Callable[[str, str], str]
) -> int:
    """Run the servers until the engine has ended; the exit status."""
    server = deployment.lmcache_server
    pool = None if server is None else server.option("shm-name")
    sys.stdout.flush()
    sys.stderr.flush()
    ending = supervise(
        servers,
        outputs=(sys.stdout.fileno(), sys.stderr.fileno()),
        scratch=cache_directory(os.environ),
        pool=None if pool is None else str(pool.value),
        style=style,
    )
    return ending.status


def with_arguments(deployment: Deployment, extra: Sequence[str]) -> Deployment:
    """The deployment with what is given behind its own arguments."""
    command = ["vllm", "serve", str(deployment.model.value), *extra]
    document = read_command(command, Path.cwd()) if extra else None
    if document is None or document.deployment is None:
        return deployment
    return replace(deployment, vllm=(*deployment.vllm, *document.deployment.vllm))
