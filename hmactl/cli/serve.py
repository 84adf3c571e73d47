"""``hmactl serve``."""

import os
import sys
from typing import Any

import click

from hmactl.cli.options import engine_options, source_options


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
@click.option("--force", metavar="REASON", help="Launch in spite of errors; the reason is logged.")
def command(
    source: str,
    extra: tuple[str, ...],
    dry_run: bool,
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
    """
    from hmactl.cli.asking import Asking
    from hmactl.cli.launching import machine_lacks, planned, refuse_or_say
    from hmactl.cli.reading import Reading, UsageFailure
    from hmactl.cli.terminal import styler
    from hmactl.launch.lacking import lacking
    from hmactl.launch.launch import HMA_FLAGS, execute, shell_form
    from hmactl.launch.preconditions.engine import identity
    from hmactl.report.build import build_report
    from hmactl.report.summary import render_summary

    if force is not None and not force.strip():
        raise click.BadParameter("the reason is empty", param_hint="--force")
    flags = sorted(HMA_FLAGS.intersection(argument.partition("=")[0] for argument in extra))
    if flags:
        raise click.UsageError(
            f"{flags[0]} is hmactl's decision: set `hma:` in the profile instead"
        )
    documents = list(Reading.of(asking).documents((source,)))
    if len(documents) != 1:
        raise UsageFailure(
            f"{source} holds {len(documents)} deployments; `serve` starts one: split the file"
        )
    how = Asking(**asking)
    engine = how.engine()
    before = () if engine is None else identity(engine)
    with how.session(engine) as session:
        checked = how.check(documents[0], session, extra)
    click.echo(render_summary(build_report([checked]), styler(color, to_stderr=True)), err=True)
    if engine is None or checked.deployment is None:
        sys.exit(2 if checked.deployment is not None else 1)
    if checked.deployment.lmcache_server is not None and checked.deployment.lmcache_server.start:
        raise UsageFailure(
            "`lmcache_server.start: true`: this version of hmactl does not start the LMCache "
            "server; start it yourself and set `start: false`"
        )
    if not dry_run and (missing := list(lacking(checked.deployment, os.environ))):
        raise UsageFailure("not launched: " + "\n  ".join(missing))
    if not checked.launchable:
        refuse_or_say(force, status=2 if checked.failure is not None else 1)
    launch = planned(checked, checked.deployment, engine, extra)
    if dry_run:
        click.echo(shell_form(launch))
        return
    environment = dict(os.environ)
    style = styler(color, to_stderr=True)
    whole = {**environment, **launch.added}
    if machine_lacks(checked, extra, before=before, environment=whole, style=style):
        refuse_or_say(force)
    try:
        execute(launch, environment)
    except OSError as error:
        raise UsageFailure(f"{launch.argv[0]} cannot be started: {error.strerror}") from None
