"""``hmactl diagnose``."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

_STDIN = Path("-")


@click.command(name="diagnose")
@click.argument(
    "logs",
    nargs=-1,
    metavar="[LOG...|-]",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
@click.option(
    "--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colours."
)
def command(logs: tuple[Path, ...], output: str, color: str) -> None:
    """Say why a server ended, or works without its cache, from its log.

    LOG is a file, or - for standard input: `kubectl logs POD | hmactl diagnose -`. Several are
    those of one server: vLLM logs to its output, LMCache and exceptions go to its errors. Of
    several starts in one only the last counts. An end by SIGKILL is in no log of the process.

    \b
    Exit status: 0 no known cause, 1 a known cause, 2 wrong usage.
    JSON: {"schema": "hmactl-diagnosis/1",
           "causes": [{"id", "title", "consequence", "fix", "evidence", "rules": [], "details": [],
                       "who", "deadly": true|false}],
           "unexplained": "the engine's own words" or null}
    """
    from hmactl.cli.terminal import styler
    from hmactl.launch.failures import diagnose_files, diagnose_stream
    from hmactl.launch.failures_text import render_failures

    if len(logs) > 1 and _STDIN in logs:
        raise click.UsageError("- is the only log, or none")
    if not logs or logs == (_STDIN,):
        with open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False) as log:
            found = diagnose_stream(log)
    else:
        found = diagnose_files(logs)
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
