"""``hmactl gpus``."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hmactl.catalogue.gpus import Gpu

_HEADER = ("ID", "DRIVER'S NAME", "CAPABILITY", "MEMORY GiB", "USABLE GiB", "SMs")
_TEXT_COLUMNS = 2
_WIDTH = 100
_DETAILS = ("aliases", "source")
_NOT_LISTED = ("of_this_machine",)


@click.command(name="gpus")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Form of the list; JSON has sizes in bytes.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Also the aliases, and where each number is from."
)
def command(form: str, verbose: bool) -> None:
    """List the GPUs that a deployment can be planned for.

    `--gpu` and a profile's `target.gpu` take an id, the driver's name or an alias, in any case.
    MEMORY is what nvidia-smi reports, USABLE what CUDA does: gpu_memory_utilization is a share of
    that. `cpu`, the plain CPU platform, is not in the list.
    """
    from hmactl.catalogue.gpus import all_gpus

    if form == "json":
        gpus = [_as_json(gpu, verbose=verbose) for gpu in all_gpus()]
        click.echo(json.dumps({"gpus": gpus}, indent=2))
        return
    for line in _table(all_gpus(), verbose=verbose):
        click.echo(line)


def _as_json(gpu: "Gpu", *, verbose: bool) -> dict[str, Any]:
    hidden = _NOT_LISTED if verbose else (*_NOT_LISTED, *_DETAILS)
    return {k: v for k, v in asdict(gpu).items() if k not in hidden}


def _table(gpus: Sequence["Gpu"], *, verbose: bool) -> Iterator[str]:
    rows = [
        (
            gpu.id,
            gpu.name,
            ".".join(map(str, gpu.capability)),
            f"{gpu.memory / 2**30:.2f}",
            f"{gpu.usable_memory / 2**30:.2f}",
            str(gpu.sm_count),
        )
        for gpu in gpus
    ]
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    yield _line(_HEADER, widths)
    for gpu, row in zip(gpus, rows, strict=True):
        yield _line(row, widths)
        if verbose:
            yield _detail(f"aliases: {', '.join(gpu.aliases) or 'none'}")
            yield _detail(f"source: {gpu.source}")


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, numbers to the right."""
    cells = zip(row, widths, strict=True)
    return "  ".join(
        text.ljust(width) if n < _TEXT_COLUMNS else text.rjust(width)
        for n, (text, width) in enumerate(cells)
    )


def _detail(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
