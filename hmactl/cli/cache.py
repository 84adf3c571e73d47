"""``hmactl cache``."""

import os

import click


@click.group(name="cache")
def command() -> None:
    """The answers of earlier dry boots that are kept on disk."""


@command.command()
def clear() -> None:
    """Forget all of them."""
    from hmactl.engine.answer_cache import AnswerCache, cache_directory

    directory = cache_directory(os.environ)
    count = AnswerCache(directory).clear()
    click.echo(f"forgot {count} answers in {directory}")
