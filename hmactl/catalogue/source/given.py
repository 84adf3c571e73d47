"""A vLLM or an LMCache that was given as source, in the catalogue's own form."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmactl.catalogue.connector_versions import (
    LmcacheRelease,
    VllmRelease,
    lmcache_release,
    lmcache_release_from,
    vllm_release,
    vllm_release_from,
)
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Sources
from hmactl.catalogue.source.place import Place, PlaceError, open_place
from hmactl.catalogue.source.releases import lmcache_release as lmcache_facts
from hmactl.catalogue.source.releases import names as names_in
from hmactl.catalogue.source.releases import vllm_release as vllm_facts

UNKNOWN_VERSION = "of unknown version"


@dataclass(frozen=True, slots=True)
class Given:
    """What was read; ``remarks`` are files that could not be."""

    vllm: VllmRelease | None
    lmcache: LmcacheRelease | None
    remarks: tuple[str, ...]


def read_given(
    vllm_source: Path | None, lmcache_source: Path | None, vllm: str | None, lmcache: str | None
) -> Given:
    """Read the source that is given; ``vllm`` and ``lmcache`` are the versions of the other one.

    Raises PlaceError where a path holds none, or something that has another form than any vLLM or
    LMCache that is known here.
    """
    with ExitStack() as stack:
        here: dict[str, tuple[Place, dict[str, Any]]] = {}
        for package, path in (("vllm", vllm_source), ("lmcache", lmcache_source)):
            if path is not None:
                place = stack.enter_context(open_place(package, path))
                here[package] = place, _facts(package, place.sources)
        engine = cache = None
        if "vllm" in here:
            other = here["lmcache"][1]["classes"].values() if "lmcache" in here else ()
            known = lmcache_release(lmcache) if lmcache else None
            wanted = {n for found in other for n in found.get("imports", ())}
            wanted |= {
                n for found in (known.classes.values() if known else ()) for n in found.imports
            }
            engine = vllm_release_from(*_release(here["vllm"], wanted))
        if "lmcache" in here:
            release = engine or (vllm_release(vllm) if vllm else None)
            connectors = release.connectors.values() if release else ()
            wanted = {name for found in connectors for name in found.imports}
            cache = lmcache_release_from(*_release(here["lmcache"], wanted))
        remarks = [r for place, _ in here.values() for r in place.sources.unreadable.values()]
        return Given(engine, cache, tuple(remarks))


def _release(
    here: tuple[Place, dict[str, Any]], wanted: set[str]
) -> tuple[dict[str, Any], str, dict[str, bool]]:
    place, facts = here
    there = {name: found["there"] for name, found in names_in(place.sources, wanted).items()}
    return facts, place.version or UNKNOWN_VERSION, there


def _facts(package: str, sources: Sources) -> dict[str, Any]:
    try:
        return vllm_facts(sources) if package == "vllm" else lmcache_facts(sources)
    except NotUnderstoodError as error:
        why = next(iter(sources.unreadable.values()), str(error))
        raise PlaceError(
            f"this {package} has another form than those that hmactl knows: {why}"
        ) from None
    except RecursionError:
        raise PlaceError(f"this {package} is nested too deeply to be read") from None
