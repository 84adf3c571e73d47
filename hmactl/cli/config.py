"""``hmactl config``."""

import json
import os
from pathlib import Path

import click


@click.group(name="config")
def command() -> None:
    """Say what `hmactl lint` is configured to do, and by which file."""


@command.command(name="show")
@click.argument("path", default=os.curdir, metavar="[PATH]")
@click.option(
    "--config",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="This file instead of the nearest .hmactl.yaml or pyproject.toml.",
)
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
def show(path: str, file: Path | None, output: str) -> None:
    """Print every setting that holds for PATH, and where it comes from."""
    from hmactl.configuration.effective import effective
    from hmactl.configuration.load import load_configuration
    from hmactl.configuration.problem import ConfigurationError

    try:
        settings = list(effective(load_configuration(Path(path), file)))
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from None
    if output == "json":
        rows = [{"key": k, "value": v, "origin": str(origin)} for k, v, origin in settings]
        click.echo(json.dumps({"schema": "hmactl-config/1", "settings": rows}, indent=2))
        return
    cells = [(key, json.dumps(value), str(origin)) for key, value, origin in settings]
    widths = [max(len(row[i]) for row in cells) for i in (0, 1)]
    for key, value, origin in cells:
        click.echo(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
