"""``hmactl diagnose``."""

import json
import sys
from dataclasses import asdict
from typing import TextIO

import click


@click.command(name="diagnose")
@click.argument("log", type=click.File("r", errors="replace"), default="-", metavar="[LOG|-]")
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
@click.option(
    "--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colours."
)
def command(log: TextIO, output: str, color: str) -> None:
    """Say why a server ended, or works without its cache, from its log.

    LOG is a file, or - for standard input: `kubectl logs POD | hmactl diagnose -`. Of several
    starts in it only the last counts. What was only written by a process that vanished with it, as
    an end by SIGKILL, is in no log.

    \b
    Exit status: 0 no known cause, 1 a known cause, 2 wrong usage.
    JSON: {"schema": "hmactl-diagnosis/1",
           "causes": [{"id", "title", "consequence", "fix", "evidence", "rules": [], "details": [],
                       "who", "deadly": true|false}],
           "unexplained": "the engine's own words" or null}
    """
    from hmactl.cli.terminal import styler
    from hmactl.launch.failures import diagnose
    from hmactl.launch.failures_text import render_failures

    found = diagnose(log)
    causes = found.causes()
    if output == "json":
        form = {
            "schema": "hmactl-diagnosis/1",
            "causes": [asdict(cause) for cause in causes],
            "unexplained": found.unexplained(),
        }
        click.echo(json.dumps(form, indent=2, ensure_ascii=False))
    else:
        click.echo(render_failures(found, styler(color)) or "no known cause of a failure")
    sys.exit(1 if causes else 0)
