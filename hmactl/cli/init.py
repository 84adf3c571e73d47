"""``hmactl init``."""

from pathlib import Path
from typing import Any

import click

from hmactl.cli.options import source_options


@click.command(name="init")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the profile to this file instead of standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
def command(sources: tuple[str, ...], output: Path | None, force: bool, **reading: Any) -> None:
    """Write a profile that means the same as a script, a manifest or another source.

    Every setting says in a comment where it was written. What cannot be known becomes a comment,
    and secrets are not copied.
    """
    from hmactl.cli.reading import Reading, UsageFailure
    from hmactl.launch.profile_form import profile_form
    from hmactl.sources.lmcache_file import carried_settings

    documents = list(Reading.of(reading).documents(sources))
    for document in documents:
        for finding in document.findings:
            click.echo(
                f"{finding.origin}: {finding.severity}[{finding.id}] {finding.message}", err=True
            )
    deployments = [d.deployment for d in documents if d.deployment is not None]
    if not deployments:
        raise UsageFailure("nothing was read that a profile could be made of")
    text = profile_form(deployments, carried_settings(deployments))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageFailure(f"{output} exists; --force overwrites it") from None
    except OSError as error:
        raise UsageFailure(f"{output} cannot be written: {error.strerror}") from None
    click.echo(f"hmactl: wrote {output}; now: hmactl check {output}", err=True)
