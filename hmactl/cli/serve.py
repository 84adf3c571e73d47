"""``hmactl serve``."""

import os
import signal
import sys
from types import FrameType
from typing import Any

import click

from hmactl.cli.options import engine_options, source_options
from hmactl.launch.render.forms import FORMATS


@click.command(
    name="serve",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": True},
)
@click.argument("source", metavar="SOURCE")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- VLLM_ARG...]")
@source_options
@engine_options
@click.option(
    "--dry-run", is_flag=True, help="Print the environment and command, and start nothing."
)
@click.option(
    "--format",
    "written",
    type=click.Choice(list(FORMATS)),
    help="With --dry-run: what `hmactl render` writes, instead of a command to paste.",
)
@click.option(
    "--image", metavar="IMAGE", help="With --format compose or kubernetes: the container image."
)
@click.option(
    "--supervise",
    is_flag=True,
    help="Stay as the server's parent and say why it ends, instead of becoming it.",
)
@click.option(
    "--start-timeout",
    type=click.FloatRange(min=1),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="Supervised: give up on a server that is not healthy after this long.",
)
@click.option("--force", metavar="REASON", help="Launch in spite of errors; the reason is logged.")
def command(
    *,
    source: str,
    extra: tuple[str, ...],
    dry_run: bool,
    written: str | None,
    image: str | None,
    supervise: bool,
    start_timeout: float,
    force: str | None,
    color: str,
    **asking: Any,
) -> None:
    """Check a deployment, then replace this process by `vllm serve`.

    SOURCE is a profile, or any other source that `hmactl check` reads, with one server in it.

    The decision about HMA is written as an explicit flag, so what was checked is what runs. What
    comes after -- goes to `vllm serve` as it is. A refused deployment is not launched, nor one for
    which this machine lacks something: a file, a GPU, memory, a port. --dry-run does not look at
    the machine.

    With `lmcache_server: {start: true}` in the profile, or --supervise, hmactl stays as the parent:
    it starts the LMCache server first, then the engine, passes their output on, stops them in
    order, and exits with the engine's status.
    """
    from hmactl.cli.asking import Asking
    from hmactl.cli.launching import (
        beside,
        machine_lacks,
        planned,
        refuse_or_say,
        stay,
        with_arguments,
    )
    from hmactl.cli.reading import Reading, UsageFailure
    from hmactl.cli.rendering import refuse_flags, refuse_what_is_not_certain, rendered_files, write
    from hmactl.cli.terminal import styler
    from hmactl.launch.lacking import lacking
    from hmactl.launch.launch import execute
    from hmactl.launch.preconditions.engine import identity
    from hmactl.launch.render.shell import shell_form
    from hmactl.launch.services import services
    from hmactl.report.build import build_report
    from hmactl.report.summary import render_summary

    # Process 1 of a container never gets a signal that it has no handler for.
    signal.signal(signal.SIGTERM, _end)
    refuse_flags(extra, force)
    if (written or image) and not dry_run:
        raise click.UsageError("--format and --image go with --dry-run")
    document = Reading.of(asking).one(source, "`serve` starts")
    how = Asking(**asking)
    engine = how.engine()
    before = () if engine is None else identity(engine)
    with how.session(engine) as session:
        checked = how.check(document, session, extra)
    click.echo(render_summary(build_report([checked]), styler(color, to_stderr=True)), err=True)
    if engine is None or checked.deployment is None:
        sys.exit(2 if checked.deployment is not None else 1)
    if written is not None:
        refuse_what_is_not_certain(checked, force)
        write(rendered_files(checked, engine, extra, written, image), None)
        return
    if not dry_run and (missing := list(lacking(checked.deployment, os.environ))):
        raise UsageFailure("not launched: " + "\n  ".join(missing))
    if not checked.launchable:
        refuse_or_say(force, status=2 if checked.failure is not None else 1)
    launch = planned(checked, checked.deployment, engine, extra)
    companion = beside(checked.deployment, engine, launch)
    if dry_run:
        click.echo(shell_form(*filter(None, (companion, launch))))
        return
    environment = dict(os.environ)
    style = styler(color, to_stderr=True)
    whole = {**environment, **launch.added}
    if machine_lacks(checked, extra, before=before, environment=whole, style=style):
        refuse_or_say(force)
    if supervise or companion is not None:
        deployment = with_arguments(checked.deployment, extra)
        servers = services(deployment, launch, companion, environment, start_timeout)
        sys.exit(stay(deployment, servers, style))
    try:
        execute(launch, environment)
    except OSError as error:
        raise UsageFailure(f"{launch.argv[0]} cannot be started: {error.strerror}") from None


def _end(number: int, _frame: FrameType | None) -> None:
    """During the check, which ends its own children."""
    sys.exit(128 + number)
