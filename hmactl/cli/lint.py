"""``hmactl lint``."""

import atexit
import gc
import os
import sys
from pathlib import Path
from typing import Any

import click

from hmactl.cli.options import source_options

_OUTPUTS = ("text", "json", "sarif", "github", "gitlab", "junit")
_ALLOCATIONS = 100_000
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
    help="Exit with status 1 for findings of this severity or worse (default: error).",
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="This file instead of the nearest .hmactl.yaml or pyproject.toml.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Findings that this file has do not count.",
)
@click.option(
    "--write-baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write what is found to this file, so that from now on only more counts.",
)
@click.option("--fix", is_flag=True, help="Make the changes that are the only fix of a finding.")
@click.option("--unsafe-fixes", is_flag=True, help="Also those that change what is configured.")
@click.option("--diff", is_flag=True, help="Show these changes and make none.")
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
    _collect_seldom()
    from hmactl.cli.linting import Linting

    paths = paths or (os.curdir,)
    linting = Linting.of(options, Path(os.curdir if paths[0] == "-" else paths[0]))
    results = linting.results(paths)
    if failed := linting.failed(results):
        click.echo(failed, err=True)
    findings = linting.findings(results)
    if options["write_baseline"] is not None:
        from hmactl.baseline import write_baseline

        count = write_baseline(options["write_baseline"], findings)
        click.echo(f"hmactl: {count} findings in {options['write_baseline']}", err=True)
        sys.exit(linting.status([], results))
    findings = linting.compared(findings)
    if options["fix"] or options["diff"]:
        from hmactl.cli.fixing import fix, show

        edits = linting.fixed(findings, results, unsafe=options["unsafe_fixes"])
        if options["diff"]:
            click.echo(show(edits), nl=False)
            sys.exit(linting.status(findings, results))
        fix(edits)
        results = linting.results(paths)
        findings = linting.compared(linting.findings(results))
    click.echo(linting.rendered(findings, results), nl=False)
    if (rest := linting.unjudged(results)) and not options["quiet"]:
        click.echo(rest, err=True)
    sys.exit(linting.status(findings, results))


def _collect_seldom() -> None:
    """Looking for garbage among what was imported is a seventh of a run that makes hardly any."""
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)
