"""``hmactl connectors``."""

import json
import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hmactl.catalogue.connector_versions import LmcacheRelease, Support, VllmRelease

_NONE = "none"
_ANY = "0"
_NOTHING = "-"
_HEADER = ("CONNECTOR", "PURPOSE", "HMA", "HOW IT IS KNOWN")
_WIDTH = 100
_CELLS = {"yes": "Y", "no": "n", "depends": "D", "unknown": "?", "unavailable": "·"}
_LEGEND = (
    "Y supports HMA   n does not   D depends, see below   ? not known   · not there\n"
    "A column stands for its version and those up to the next column."
)
# Of the JSON forms; more keys may be added, those there are stay.
_TABLE_FORM = "hmactl-connectors/1"
_MATRIX_FORM = "hmactl-connectors-matrix/1"


@dataclass(frozen=True, slots=True)
class _Versions:
    """What is asked about, and where each version is from; ``lmcache`` is "" for none.

    ``engine`` and ``cache`` are what was read from given source, ``remarks`` what could not be.
    """

    vllm: str
    vllm_origin: str
    lmcache: str
    lmcache_origin: str
    engine: "VllmRelease | None" = None
    cache: "LmcacheRelease | None" = None
    remarks: tuple[str, ...] = ()


@click.command(name="connectors")
@click.option("--vllm", metavar="VERSION", help="Of this vLLM (default: the installed one).")
@click.option(
    "--lmcache",
    metavar="VERSION",
    help="With this LMCache (default: the installed one); `none` for without.",
)
@click.option(
    "--vllm-source",
    metavar="PATH",
    help="Read this wheel, checkout or site-packages instead of a vLLM of the catalogue.",
)
@click.option("--lmcache-source", metavar="PATH", help="The same for LMCache.")
@click.option("--matrix", is_flag=True, help="Every vLLM of the catalogue, a column per change.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Form of the answer.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="The Python interpreter whose versions are meant (default: hmactl's own).",
)
@click.option("-v", "--verbose", is_flag=True, help="Also what each connector is and its module.")
def command(
    *,
    vllm: str | None,
    lmcache: str | None,
    vllm_source: str | None,
    lmcache_source: str | None,
    matrix: bool,
    form: str,
    python: str | None,
    verbose: bool,
) -> None:
    """Say which connectors support HMA, by vLLM and LMCache version.

    From hmactl's catalogue, which was read from the source of released wheels, or from the source
    that is given: nothing is imported and no engine is needed. HMA is yes, no, depends (HOW says
    on what), unknown, or unavailable where the connector cannot be loaded.
    LMCACHE_USE_UPSTREAM_MP counts as it does for vLLM.

    \b
    JSON: {"schema": "hmactl-connectors/1",
           "vllm":    {"version": "0.32.0", "origin": "..."},
           "lmcache": {"version": "0.5.6" or null, "origin": "..."},
           "connectors": [{"name", "purpose", "what", "hma", "supports_hma": true|false|null,
                           "how", "caveats": [], "module", "class", "module_path",
                           "as_of": {"vllm", "lmcache"}}]}
    With --matrix: {"schema": "hmactl-connectors-matrix/1", "lmcache": null or "0.5.6",
           "vllm_versions": [], "connectors": {name: {version: hma}}}
    A module_path is what must be given as kv_connector_module_path.
    """
    for option, value, other in (
        ("--vllm-source", vllm_source, "--matrix" if matrix else "--vllm" if vllm else ""),
        (
            "--lmcache-source",
            lmcache_source,
            "--matrix" if matrix else "--lmcache" if lmcache else "",
        ),
    ):
        if value is not None and other:
            raise click.UsageError(f"{option} and {other} cannot be given together")
    if matrix:
        _check_versions(vllm, lmcache)
        _print_matrix(vllm, lmcache, form)
        return
    if vllm_source is None and lmcache_source is None:
        versions = _versions(vllm, lmcache, python)
        _check_versions(versions.vllm, versions.lmcache or None)
    else:
        versions = _from_source(vllm, lmcache, vllm_source, lmcache_source, python)
    rows = list(_rows(versions))
    if form == "json":
        click.echo(json.dumps(_as_json(versions, rows), indent=2, ensure_ascii=False))
        return
    click.echo(_sentence(versions))
    click.echo()
    for line in _table(rows, verbose=verbose):
        click.echo(line)
    for remark in versions.remarks:
        click.echo(f"not read: {remark}", err=True)


def _versions(vllm: str | None, lmcache: str | None, python: str | None) -> _Versions:
    from hmactl.catalogue.connector_versions import lmcache_releases, vllm_releases

    given = "as given"
    cache = "" if lmcache == _NONE else lmcache
    if vllm is not None and cache is not None:
        return _Versions(vllm, given, cache, given)
    from hmactl.engine.find import EngineNotFound, find_engine

    try:
        engine = find_engine(python)
    except EngineNotFound as error:
        raise click.UsageError(str(error)) from None
    installed = f"installed for {engine.python}"
    newest = f"the newest in the catalogue, as {engine.python} has none"
    if vllm is not None:
        engine_version, engine_origin = vllm, given
    elif engine.vllm is not None:
        engine_version, engine_origin = engine.vllm.version, installed
    else:
        engine_version, engine_origin = vllm_releases()[-1].version, newest
    if cache is not None:
        return _Versions(engine_version, engine_origin, cache, given)
    if engine.lmcache is not None:
        return _Versions(engine_version, engine_origin, engine.lmcache.version, installed)
    if engine_origin == installed:
        return _Versions(engine_version, engine_origin, "", installed)
    return _Versions(engine_version, engine_origin, lmcache_releases()[-1].version, newest)


def _from_source(
    vllm: str | None,
    lmcache: str | None,
    vllm_source: str | None,
    lmcache_source: str | None,
    python: str | None,
) -> _Versions:
    """Read what is given; the other one is as without it."""
    from hmactl.catalogue.source.given import read_given
    from hmactl.catalogue.source.place import PlaceError

    # A version that is given spares the search for an engine; what is read replaces it.
    asked = _versions(
        vllm if vllm_source is None else _ANY,
        lmcache if lmcache_source is None else _ANY,
        python,
    )
    if vllm_source is None:
        _check_versions(asked.vllm, None)
    if lmcache_source is None:
        _check_versions(None, asked.lmcache or None)
    try:
        given = read_given(
            None if vllm_source is None else Path(vllm_source),
            None if lmcache_source is None else Path(lmcache_source),
            asked.vllm if vllm_source is None else None,
            asked.lmcache if lmcache_source is None else None,
        )
    except PlaceError as error:
        raise click.UsageError(str(error)) from None
    if given.vllm is not None:
        asked = replace(
            asked,
            vllm=given.vllm.version,
            vllm_origin=f"read from {vllm_source}",
            engine=given.vllm,
        )
    if given.lmcache is not None:
        asked = replace(
            asked,
            lmcache=given.lmcache.version,
            lmcache_origin=f"read from {lmcache_source}",
            cache=given.lmcache,
        )
    return replace(asked, remarks=given.remarks)


def _check_versions(vllm: str | None, lmcache: str | None) -> None:
    from packaging.version import InvalidVersion, Version

    from hmactl.catalogue.connector_versions import vllm_release, vllm_releases

    for option, value in (("--vllm", vllm), ("--lmcache", lmcache)):
        try:
            Version(value if value is not None and value != _NONE else "0")
        except InvalidVersion:
            raise click.UsageError(f"{option}: `{value}` is no version") from None
    if vllm is not None and vllm_release(vllm) is None:
        raise click.UsageError(
            f"vLLM {vllm} is older than the catalogue, which begins with "
            f"{vllm_releases()[0].version}; --vllm names another"
        )


@dataclass(frozen=True, slots=True)
class _Row:
    support: "Support"
    purpose: str | None
    what: str | None
    module_path: str | None


def _rows(versions: _Versions) -> Iterator[_Row]:
    """The connectors that this vLLM registers, then those that LMCache has beside them."""
    from hmactl.catalogue.connector_versions import (
        connector_support,
        lmcache_release,
        support_in,
        vllm_release,
    )
    from hmactl.catalogue.connectors import connector_facts

    engine = versions.engine or vllm_release(versions.vllm)
    cache = versions.cache or (lmcache_release(versions.lmcache) if versions.lmcache else None)

    def support(name: str, module_path: str | None) -> "Support":
        environment = os.environ
        if engine is not None and (versions.engine or versions.cache):
            beside = versions.cache or versions.lmcache
            return support_in(
                engine, beside, name, environment=environment, module_path=module_path
            )
        return connector_support(
            versions.vllm,
            versions.lmcache,
            name,
            environment=environment,
            module_path=module_path,
        )

    for name in sorted(engine.connectors if engine else ()):
        facts = connector_facts(name)
        purpose, what = (facts.purpose, facts.what) if facts else (None, None)
        yield _Row(support(name, None), purpose, what, None)
    for found in cache.classes.values() if cache else ():
        if engine and found.name in engine.connectors and not engine.rules.module_path_wins:
            continue
        yield _Row(support(found.name, found.module), None, None, found.module)


def _sentence(versions: _Versions) -> str:
    cache = f"LMCache {versions.lmcache}" if versions.lmcache else "no LMCache"
    if versions.vllm_origin == versions.lmcache_origin:
        return f"vLLM {versions.vllm} and {cache}, {versions.vllm_origin}"
    return f"vLLM {versions.vllm}, {versions.vllm_origin}; {cache}, {versions.lmcache_origin}"


def _table(rows: Sequence[_Row], *, verbose: bool) -> Iterator[str]:
    notes: dict[str, int] = {}
    cells = []
    for row in rows:
        support = row.support
        marks = "".join(
            f" [{notes.setdefault(caveat, len(notes) + 1)}]" for caveat in support.caveats
        )
        cells.append((support.name, row.purpose or _NOTHING, str(support.hma), support.how + marks))
    widths = [max(map(len, column)) for column in zip(_HEADER, *cells, strict=True)]
    yield _line(_HEADER, widths)
    outside = False
    for row, cell in zip(rows, cells, strict=True):
        if row.module_path and not outside:
            outside = True
            yield ""
            yield "with kv_connector_module_path, of LMCache:"
        yield _line(cell, widths)
        if row.module_path:
            yield f"    {row.module_path}"
        elif verbose:
            if row.what:
                yield f"    {row.what}"
            if row.support.module:
                yield f"    {row.support.module}.{row.support.class_name}"
    if notes:
        yield ""
    for note, number in notes.items():
        yield textwrap.fill(
            f"[{number}] {note}",
            _WIDTH,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _as_json(versions: _Versions, rows: Sequence[_Row]) -> dict[str, Any]:
    return {
        "schema": _TABLE_FORM,
        "vllm": {"version": versions.vllm, "origin": versions.vllm_origin},
        "lmcache": {"version": versions.lmcache or None, "origin": versions.lmcache_origin},
        "connectors": [
            {
                "name": row.support.name,
                "purpose": row.purpose,
                "what": row.what,
                "hma": row.support.hma,
                "supports_hma": row.support.supports_hma,
                "how": row.support.how,
                "caveats": list(row.support.caveats),
                "module": row.support.module,
                "class": row.support.class_name,
                "module_path": row.module_path,
                "as_of": {"vllm": row.support.vllm, "lmcache": row.support.lmcache},
            }
            for row in rows
        ],
    }


def _print_matrix(vllm: str | None, lmcache: str | None, form: str) -> None:
    from hmactl.catalogue.connector_versions import (
        connector_support,
        known_connectors,
        vllm_releases,
    )

    versions = [r.version for r in vllm_releases() if vllm is None or r.version == vllm]
    if not versions:
        raise click.UsageError(f"vLLM {vllm} was not read, so it is no column of the matrix")
    cache = "" if lmcache == _NONE else lmcache
    matrix = {
        name: {
            version: connector_support(version, cache, name, environment=os.environ).hma
            for version in versions
        }
        for name in known_connectors()
    }
    if form == "json":
        answer = {"schema": _MATRIX_FORM, "lmcache": cache, "vllm_versions": versions}
        click.echo(json.dumps(answer | {"connectors": matrix}, indent=2))
        return
    columns = [
        version
        for n, version in enumerate(versions)
        if not n or any(row[version] is not row[versions[n - 1]] for row in matrix.values())
    ]
    width = max(map(len, matrix))
    click.echo("  ".join(["vLLM".ljust(width), *columns]))
    for name, row in matrix.items():
        marks = [_CELLS[row[version]].ljust(len(version)) for version in columns]
        click.echo("  ".join([name.ljust(width), *marks]).rstrip())
    click.echo()
    click.echo(f"{_LEGEND} The newest is {versions[-1]}.")
    for line in _remarks(lmcache):
        click.echo(line)


def _remarks(lmcache: str | None) -> Iterator[str]:
    from hmactl.catalogue.connector_versions import vllm_releases
    from hmactl.catalogue.hma_decision import WithConnector

    yield "MultiConnector depends on its children: all of them must support HMA."
    if lmcache is None:
        yield "LMCacheMPConnector depends on the LMCache beside it: `--lmcache VERSION` tells."
    said = {
        WithConnector.ALWAYS_OFF: "switch HMA off with any connector.",
        WithConnector.OFF_UNLESS_ENABLED: (
            "switch HMA off with any connector unless\n--no-disable-hybrid-kv-cache-manager is "
            "given."
        ),
        WithConnector.ASKS: "keep HMA on by default with a connector that supports it.",
    }
    for kind, sentence in said.items():
        having = [r.version for r in vllm_releases() if r.rules.hma.with_connector is kind]
        if having:
            yield f"{having[0]} to {having[-1]} {sentence}"
