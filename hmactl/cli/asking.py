"""Ask the engine about sources: what check, serve and verify have in common."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from hmactl.check import Options, check_document
from hmactl.checked import Checked
from hmactl.cli.reading import UsageFailure
from hmactl.cli.terminal import progress
from hmactl.engine.answer_cache import AnswerCache, cache_directory
from hmactl.engine.ask import Session
from hmactl.engine.child import Limits
from hmactl.engine.find import Engine, EngineNotFound, find_engine
from hmactl.engine.local_gpu import local_gpu
from hmactl.sources.document import Document


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


def _no_vllm(engine: Engine) -> str:
    return (
        f"hmactl: {engine.python} has no vLLM, so no plan and no verdict can be made.\n"
        "  install one beside hmactl: pip install 'hmactl[engine]' (CUDA) or "
        "'hmactl[engine-cpu]' (CPU, enough to plan for any GPU),\n"
        "  or name another interpreter with --python. Without it hmactl still reads profiles and "
        "reports what is wrong in them,\n"
        "  and `hmactl connectors` tells from its catalogue which connectors support HMA."
    )
