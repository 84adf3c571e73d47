"""``hmactl check``."""

import sys
from typing import Any

import click

from hmactl.cli.options import engine_options

_FORMATS = ("text", "json")


@click.command(name="check")
@click.argument("profiles", nargs=-1, required=True, metavar="PROFILE...")
@engine_options
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", help="Form of the report."
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
    profiles: tuple[str, ...],
    form: str,
    fail_on: str,
    color: str,
    explain_memory: bool,
    **asking: Any,
) -> None:
    """Say whether a deployment will come up, and what it costs if HMA is off.

    Asks the installed vLLM itself: its own start-up as far as the KV cache plan, without a GPU and
    without weights. PROFILE is a profile file, or - for standard input.
    """
    from hmactl.check import check_together
    from hmactl.cli.asking import Asking, read_documents
    from hmactl.cli.terminal import styler
    from hmactl.finding import Severity
    from hmactl.report.build import build_report
    from hmactl.report.json_form import render_json
    from hmactl.report.text import render_text

    how = Asking(**asking)
    with how.session(how.engine()) as session:
        checked = [how.check(document, session) for document in read_documents(profiles)]
    checked = check_together(checked)
    report = build_report(checked)
    if form == "json":
        click.echo(render_json(report))
    else:
        style, verbose = styler(color), how.verbose
        click.echo(render_text(report, style, verbose=verbose, explain_memory=explain_memory))
    threshold = Severity(fail_on).rank
    worst = min((f.severity.rank for one in checked for f in one.findings), default=99)
    if any(one.failure is not None for one in checked):
        sys.exit(2)
    sys.exit(1 if worst <= threshold else 0)
