"""``hmactl lint``."""

import os
import sys
from typing import Any

import click

from hmactl.cli.options import source_options

_OUTPUTS = ("text", "json", "sarif", "github", "gitlab", "junit")
_SEVERITIES = ("error", "warning", "info")


@click.command(name="lint")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@source_options
@click.option("--vllm", metavar="VERSION", help="For deployments that do not say their vLLM.")
@click.option("--lmcache", metavar="VERSION", help="For deployments that do not say their LMCache.")
@click.option("--include", multiple=True, metavar="GLOB", help="Files of directories to read.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files and directories to skip.")
@click.option("--select", metavar="IDS", help="Only these rules: beginnings of ids, by comma.")
@click.option("--ignore", metavar="IDS", help="Not these rules: beginnings of ids, by comma.")
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    default="error",
    show_default=True,
    help="Exit with status 1 for findings of this severity or worse.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with status 0 whatever is found.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--format", "output", type=click.Choice(_OUTPUTS), default="text", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Do not say what could not be judged.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours; NO_COLOR is respected.",
)
def command(paths: tuple[str, ...], **options: Any) -> None:
    """Check configurations without an engine, a GPU or a network, for CI.

    PATH is a file of any form that `hmactl check` reads, a directory, or - for standard input;
    default: the current directory. Nothing that a file names is imported or run.
    """
    from hmactl.cli.linting import Linting

    linting = Linting.of(options)
    results = linting.results(paths or (os.curdir,))
    findings = linting.findings(results)
    click.echo(linting.rendered(findings, results), nl=False)
    if (rest := linting.unjudged(results)) and not options["quiet"]:
        click.echo(rest, err=True)
    sys.exit(linting.status(findings))
