"""Read sources and ask the engine about them: what check and serve have in common."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import click

from hmactl.check import Options, check_document
from hmactl.checked import Checked
from hmactl.cli.terminal import progress
from hmactl.deployment.form import Form
from hmactl.engine.answer_cache import AnswerCache, cache_directory
from hmactl.engine.ask import Session
from hmactl.engine.child import Limits
from hmactl.engine.find import Engine, EngineNotFound, find_engine
from hmactl.engine.local_gpu import local_gpu
from hmactl.sources.command import read_command
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.read import read_path, read_source
from hmactl.sources.supplied import SuppliedError, beside, supplied


@dataclass(frozen=True, slots=True)
class Asking:
    """The engine options of a command line."""

    gpu: str | None
    kv_cache_memory: int | None
    python: str | None
    offline: bool
    timeout: float
    memory_limit: int
    no_cache: bool
    quiet: bool
    verbose: bool

    def engine(self) -> Engine | None:
        """The engine, or None where the interpreter has no vLLM, which is then said.

        Raises click.ClickException with exit status 2 where there is no such interpreter.
        """
        try:
            engine = find_engine(self.python)
        except EngineNotFound as error:
            raise UsageFailure(str(error)) from None
        if not engine.has_vllm:
            click.echo(_no_vllm(engine), err=True)
            return None
        return engine

    @contextmanager
    def session(self, engine: Engine | None) -> Iterator[Session | None]:
        """The engine loaded for as long as there are deployments to ask about."""
        if engine is None:
            yield None
            return
        answers = None if self.no_cache else AnswerCache(cache_directory(os.environ))
        with Session(engine, Limits(self.timeout, self.memory_limit), answers) as session:
            yield session

    def check(
        self, document: Document, session: Session | None, extra: tuple[str, ...] = ()
    ) -> Checked:
        """Check one document, with progress on standard error."""
        name = document.source if document.deployment is None else document.deployment.name
        quiet = self.quiet or session is None or document.deployment is None
        with progress(name, quiet=quiet, verbose=self.verbose) as on_stage:
            options = Options(
                environment=dict(os.environ),
                directory=Path.cwd(),
                gpu=self.gpu,
                local_gpu=local_gpu,
                kv_cache_memory=self.kv_cache_memory,
                offline=self.offline,
                extra=extra,
                host_memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                on_stage=on_stage,
            )
            return check_document(document, session, options)


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


def read_server_command(argv: tuple[str, ...]) -> Document:
    """The deployment that a command starts, given behind ``--``.

    Raises click.UsageError where it starts no vLLM server.
    """
    document = read_command(argv, Path.cwd())
    if document is None:
        raise click.UsageError(
            "what stands behind -- starts no server: expected `vllm serve MODEL ...` or "
            "`python -m vllm.entrypoints.openai.api_server ...`, NAME=value in front"
        )
    return document


def _no_vllm(engine: Engine) -> str:
    return (
        f"hmactl: {engine.python} has no vLLM, so no plan and no verdict can be made.\n"
        "  install one beside hmactl: pip install 'hmactl[engine]' (CUDA) or "
        "'hmactl[engine-cpu]' (CPU, enough to plan for any GPU),\n"
        "  or name another interpreter with --python. Without it hmactl still reads profiles and "
        "reports what is wrong in them,\n"
        "  and `hmactl connectors` tells from its catalogue which connectors support HMA."
    )
