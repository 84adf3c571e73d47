"""``hmactl check``."""

import sys
from typing import Any

import click

from hmactl.cli.options import engine_options, source_options

_FORMATS = ("text", "json")
_COMMAND = "hmactl.command"


class _Check(click.Command):
    """What stands behind ``--`` is a command and none of this one's arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(name="check", cls=_Check, options_metavar="[OPTIONS]")
@click.argument("sources", nargs=-1, metavar="[SOURCE...] [-- COMMAND...]")
@source_options
@engine_options
@click.option(
    "--format", "output", type=click.Choice(_FORMATS), default="text", help="Form of the report."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="error",
    show_default=True,
    help="Exit with status 1 for findings of this severity or worse.",
)
@click.option(
    "--explain-memory",
    is_flag=True,
    help="Show the arithmetic behind GPU, LMCache, host and disk memory, step by step.",
)
def command(
    sources: tuple[str, ...],
    output: str,
    fail_on: str,
    color: str,
    explain_memory: bool,
    **asking: Any,
) -> None:
    """Say whether a deployment will come up, and what it costs if HMA is off.

    Asks the installed vLLM itself: its own start-up as far as the KV cache plan, without a GPU and
    without weights.

    SOURCE is what starts the server: a profile, a shell script, Kubernetes manifests, a compose
    file, a Dockerfile, a systemd unit, Helm values, a configuration file of vLLM or LMCache, or -
    for standard input; its content tells which. COMMAND is a command line, such as
    `LMCACHE_CHUNK_SIZE=256 vllm serve MODEL --flag`. All of it is read and none of it is run.
    """
    from hmactl.checked import check_together
    from hmactl.cli.asking import Asking
    from hmactl.cli.reading import Reading, read_server_command
    from hmactl.cli.terminal import styler
    from hmactl.finding import Severity
    from hmactl.report.build import build_report
    from hmactl.report.json_form import render_json
    from hmactl.report.text import render_text

    argv = click.get_current_context().meta.get(_COMMAND)
    if not sources and not argv:
        raise click.UsageError("name a profile, another source, or a command behind --")
    commands = [] if argv is None else [read_server_command(argv)]
    reading = Reading.of(asking)
    how = Asking(**asking)
    with how.session(how.engine()) as session:
        documents = [*reading.documents(sources), *commands]
        checked = [how.check(document, session) for document in documents]
    checked = check_together(checked)
    report = build_report(checked)
    if output == "json":
        click.echo(render_json(report))
    else:
        style, verbose = styler(color), how.verbose
        click.echo(render_text(report, style, verbose=verbose, explain_memory=explain_memory))
    threshold = Severity(fail_on).rank
    worst = min((f.severity.rank for one in checked for f in one.findings), default=99)
    if any(one.failure is not None for one in checked):
        sys.exit(2)
    sys.exit(1 if worst <= threshold else 0)
