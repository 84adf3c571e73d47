"""``hmactl render``."""

from pathlib import Path
from typing import Any

import click

from hmactl.cli.options import engine_options, source_options
from hmactl.launch.render.forms import FORMATS


@click.command(name="render")
@click.argument("source", metavar="SOURCE")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- VLLM_ARG...]")
@source_options
@engine_options
@click.option(
    "--format",
    "written",
    type=click.Choice(list(FORMATS)),
    required=True,
    help="What to write.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    help="The container image of compose and kubernetes (default: vLLM's own of the release that "
    "was checked, where that is certain to hold it). With it env is for a container, too.",
)
@click.option(
    "--from-catalogue",
    is_flag=True,
    help="Judge by what ships with hmactl, as `hmactl lint` does, and not by an engine.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write to this file instead of standard output; several files, into this directory.",
)
@click.option("--overwrite", is_flag=True, help="Overwrite files that are there.")
@click.option("--force", metavar="REASON", help="Render in spite of errors; the reason is logged.")
def command(
    *,
    source: str,
    extra: tuple[str, ...],
    written: str,
    image: str | None,
    from_catalogue: bool,
    output: Path | None,
    overwrite: bool,
    force: str | None,
    color: str,
    **asking: Any,
) -> None:
    """Check a deployment, then write it for another launcher.

    SOURCE is a profile, or any other source that `hmactl check` reads, with one server in it.

    What is written starts exactly what `hmactl serve` would: its arguments and variables, with the
    decision about HMA as an explicit flag. No secret is written; a variable takes its place. A
    refused deployment, or one with settings that are not known, is not rendered.
    """
    from hmactl.cli.asking import Asking
    from hmactl.cli.reading import Reading, UsageFailure
    from hmactl.cli.rendering import (
        ENGINE_OF_PATH,
        judged_by_catalogue,
        refuse_flags,
        refuse_what_is_not_certain,
        rendered_files,
        write,
    )
    from hmactl.cli.terminal import styler
    from hmactl.report.build import build_report
    from hmactl.report.summary import render_summary

    refuse_flags(extra, force)
    if from_catalogue and extra:
        raise click.UsageError(
            "--from-catalogue judges the source alone: write the options into it"
        )
    reading = Reading.of(asking)
    document = reading.one(source, "`render` writes")
    how = Asking(**asking)
    if from_catalogue:
        engine, checked = ENGINE_OF_PATH, judged_by_catalogue(document, source, reading.given())
    else:
        found = how.engine()
        if found is None:
            raise UsageFailure("without an engine, --from-catalogue judges by hmactl's own facts")
        with how.session(found) as session:
            engine, checked = found, how.check(document, session, extra)
    click.echo(render_summary(build_report([checked]), styler(color, to_stderr=True)), err=True)
    refuse_what_is_not_certain(checked, force)
    write(rendered_files(checked, engine, extra, written, image), output, overwrite=overwrite)
