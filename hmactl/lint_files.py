"""From paths to findings: every file is read as what its content says it is, and judged."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hmactl.checked import Checked, check_together
from hmactl.deployment.form import Form
from hmactl.finding import Finding
from hmactl.fix.proof import proven
from hmactl.lint import Linted, Pins, lint_document
from hmactl.sources.document import Document
from hmactl.sources.form import form_of
from hmactl.sources.given import Given
from hmactl.sources.pins import pinned_beside
from hmactl.sources.read import read_source
from hmactl.sources.selection import Selection
from hmactl.sources.source_text import load_source
from hmactl.sources.supplied import beside

# A process costs about as much as a dozen files.
_MANY = 60
_CHUNK = 8
_MOST_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Request:
    """What a lint is about.

    ``pins`` are the versions of deployments that say none, and that no file beside them says.
    ``working`` is the caller's directory. ``form`` None: the content tells it.
    """

    working: Path
    given: Given
    pins: Pins
    selection: Selection
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """What was found in one source. ``open`` are questions that no version or plan answered.

    ``failure`` says why it could not be judged at all, which is a defect of hmactl's or a machine
    that is too small.
    """

    source: str
    text: str | None
    findings: tuple[Finding, ...]
    deployments: int = 0
    form: Form | None = None
    open: tuple[str, ...] = ()
    failure: str | None = None


def lint_path(path: Path, request: Request) -> Iterator[FileResult]:
    """The results of a file that was named, or of those of a directory that hold a deployment."""
    if not path.is_dir():
        yield _judged(path, request, named=True)
        return
    from hmactl.sources.walk import files_in

    for result in _each(list(files_in(path, request.selection)), request):
        if result.deployments or result.findings or result.failure:
            yield result


def _each(paths: Sequence[Path], request: Request) -> Iterator[FileResult]:
    """The results in the order of the paths, on all processors where there are many."""
    one = partial(_judged, request=request, named=False)
    workers = min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
    if len(paths) < _MANY or workers == 1:
        yield from map(one, paths)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    judged = 0
    try:
        with ProcessPoolExecutor(workers, get_context("fork")) as pool:
            for result in pool.map(one, paths, chunksize=_CHUNK):
                yield result
                judged += 1
    except BrokenProcessPool:
        yield from map(partial(_alone, request=request), paths[judged:])


def _alone(path: Path, request: Request) -> FileResult:
    """The result of a file in a process of its own, which may end without one."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        try:
            return pool.submit(_judged, path, request, named=False).result()
        except BrokenProcessPool:
            ended = "the process that judged it was killed, for want of memory perhaps"
            return FileResult(str(path), None, (), failure=ended)


def _judged(path: Path, request: Request, *, named: bool) -> FileResult:
    """The same as ``lint_file``, whatever becomes of it: one file must not cost the others."""
    try:
        return lint_file(path, request, named=named)
    except Exception as error:  # noqa: BLE001 - any defect
        return FileResult(str(path), None, (), failure=_defect(error))


def _defect(error: Exception) -> str:
    from traceback import extract_tb

    last = extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    # Its words may have a secret of the file in them.
    return f"a defect of hmactl: {type(error).__name__} at {where}"


def lint_file(path: Path, request: Request, *, named: bool) -> FileResult:
    """The result of one file. One not ``named`` may be something else."""
    text = load_source(path)
    if isinstance(text, Document):
        return FileResult(str(path), None, text.findings if named else ())
    given = beside(request.given, path.parent, request.working)
    vllm, lmcache = pinned_beside(path.parent)
    pins = Pins(vllm or request.pins.vllm, lmcache or request.pins.lmcache)
    return lint_text(str(path), text, pins, given, request.form, named=named)


def lint_text(
    source: str, text: str, pins: Pins, given: Given, form: Form | None, *, named: bool
) -> FileResult:
    """The result of one text."""
    form = form or form_of(text)
    if form is None and not named:
        return FileResult(source, text, ())
    documents = read_source(source, text, form, given)
    if not named and all(document.deployment is None for document in documents):
        return FileResult(source, text, ())
    linted = _linted(documents, pins, given)
    checked = check_together([one.checked for one in linted])
    count = sum(one.deployment is not None for one in checked)

    def read_again(changed: str) -> tuple[Finding, ...]:
        others = _linted(read_source(source, changed, form, given), pins, given)
        return _findings(check_together([one.checked for one in others]))

    findings = proven(source, text, _findings(checked), read_again)
    return FileResult(source, text, findings, count, form, tuple(_open(linted)))


def _linted(documents: Sequence[Document], pins: Pins, given: Given) -> list[Linted]:
    return [lint_document(document, pins, given.read_file) for document in documents]


def _findings(checked: Sequence[Checked]) -> tuple[Finding, ...]:
    """Each once, also where several deployments share the line that it is about."""
    return tuple(dict.fromkeys(finding for one in checked for finding in one.findings))


def _open(linted: Sequence[Linted]) -> Iterator[str]:
    for one in linted:
        if one.checked.deployment is None:
            continue
        if one.vllm is None:
            yield "the vLLM version is not known; --vllm VERSION says it"
        if one.no_plan is not None:
            yield f"no KV cache plan: {one.no_plan}"
