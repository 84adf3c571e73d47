"""Connectors and HMA per release: the file connector-versions.json."""

import json
import sys
from pathlib import Path
from typing import Any

from hmactl.catalogue.source.releases import lmcache_release, names, vllm_release

from .reading import Releases, read_wheel
from .runs import NAMES, asked, compact, expand, write
from .sources import wheel_sources
from .wheels import wheel

FILE = "connector-versions.json"
_READERS = {"vllm": vllm_release, "lmcache": lmcache_release}


def refresh(wanted: Releases, wheels: Path, data: Path, *, fresh: bool) -> None:
    """Read these releases anew; says which others have to be read again."""
    path = data / FILE
    known = {} if fresh or not path.exists() else json.loads(path.read_text("utf-8"))
    packages = {package: expand(known, package) for package in _READERS}
    for package, releases in wanted.items():
        for release in releases:
            facts = read_wheel(package, release, wheels, _READERS[package])
            _say_what_is_unknown(facts)
            packages[package][release.version] = facts
    for package, releases in wanted.items():
        names_asked = asked(packages, package)
        for release in releases:
            with wheel_sources(package, wheel(release, wheels)) as sources:
                packages[package][release.version][NAMES] = names(sources, names_asked)
        for version, facts in packages[package].items():
            if names_asked - set(facts[NAMES]):
                print(
                    f"{package} {version}: read it again: more is imported from it now",
                    file=sys.stderr,
                )
    path.parent.mkdir(parents=True, exist_ok=True)
    write(compact(packages), path)


def _say_what_is_unknown(facts: dict[str, Any]) -> None:
    for kind in ("connectors", "classes"):
        for name, found in facts.get(kind, {}).items():
            if found["supports_hma"] is None:
                print(f"  {name}: unknown: {found['how']}", file=sys.stderr)
