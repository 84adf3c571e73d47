"""How results and progress reach a person."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_STYLES: dict[str, dict[str, str | bool]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "blue", "bold": True},
    "good": {"fg": "green", "bold": True},
    "bold": {"bold": True},
    "dim": {"dim": True},
}
_STAGES = {
    "torch": "loading torch",
    "vllm": "loading vLLM",
    "arguments": "parsing the command line as vLLM does",
    "config": "making vLLM's configuration",
    "connector": "loading the connector",
    "model": "building the model without weights",
    "plan": "making the KV cache plan",
}


def styler(color: str, *, to_stderr: bool = False) -> Callable[[str, str], str]:
    """A function from text and style name to text with or without colours."""
    stream = sys.stderr if to_stderr else sys.stdout
    on = color == "always" or (
        color == "auto" and stream.isatty() and not os.environ.get("NO_COLOR")
    )

    def style(text: str, name: str) -> str:
        return click.style(text, **_STYLES[name]) if on else text  # type: ignore[arg-type]

    return style


@contextmanager
def progress(what: str, *, quiet: bool, verbose: bool) -> Iterator[Callable[[str], None]]:
    """Report stages on standard error: a live line on a terminal, else a line at the start."""
    if quiet:
        yield lambda _stage: None
    elif verbose or not sys.stderr.isatty():
        click.echo(f"hmactl: asking vLLM about {what}", err=True)

        def tell(stage: str) -> None:
            if verbose:
                click.echo(f"hmactl: {_STAGES.get(stage, stage)}", err=True)

        yield tell
    else:
        from rich.console import Console

        with Console(stderr=True).status(f"{what}: starting") as status:
            yield lambda stage: status.update(f"{what}: {_STAGES.get(stage, stage)}")
