"""Read sources: what every command that takes them has in common."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import click

from hmactl.deployment.form import Form
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.read import read_path, read_source
from hmactl.sources.supplied import SuppliedError, beside, supplied


class UsageFailure(click.ClickException):
    """Exit status 2: hmactl could not do its work."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """The source options of a command line."""

    form: str | None
    env_files: tuple[str, ...]
    assignments: tuple[str, ...]

    @classmethod
    def of(cls, options: dict[str, Any]) -> Self:
        """Take the source options out of a command's."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    def given(self) -> Given:
        """The variables supplied. Raises UsageFailure where one cannot be had."""
        try:
            return supplied(map(Path, self.env_files), self.assignments)
        except SuppliedError as error:
            raise UsageFailure(str(error)) from None

    def documents(self, paths: tuple[str, ...]) -> Iterator[Document]:
        """The deployments of all sources; ``-`` is standard input.

        Raises UsageFailure where a variable cannot be had.
        """
        given = self.given()
        form = None if self.form is None else Form(self.form)
        working = Path.cwd()
        for path in paths:
            if path == "-":
                text = sys.stdin.buffer.read().decode("utf-8", "replace")
                yield from read_source("-", text, form, beside(given, working, working))
            else:
                yield from read_path(Path(path), form, given, working)

    def one(self, path: str, what: str) -> Document:
        """The only deployment of a source. Raises UsageFailure, with ``what`` takes only one."""
        documents = list(self.documents((path,)))
        if len(documents) != 1:
            raise UsageFailure(
                f"{path} holds {len(documents)} deployments; {what} one: split the file"
            )
        return documents[0]


def read_server_command(argv: tuple[str, ...]) -> Document:
    """The deployment that a command starts, given behind ``--``.

    Raises click.UsageError where it starts no vLLM server.
    """
    from hmactl.sources.command import read_command

    document = read_command(argv, Path.cwd())
    if document is None:
        raise click.UsageError(
            "what stands behind -- starts no server: expected `vllm serve MODEL ...` or "
            "`python -m vllm.entrypoints.openai.api_server ...`, NAME=value in front"
        )
    return document
