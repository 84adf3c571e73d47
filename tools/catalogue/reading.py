"""Reading released wheels into a data file."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Sources

from .sources import wheel_sources
from .table import WHEEL, Table
from .wheels import Wanted, wheel

Reader = Callable[[Sources], dict[str, Any]]
Releases = Mapping[str, Sequence[Wanted]]
"""What to read of each package, "vllm" and "lmcache"."""


def read_wheel(package: str, wanted: Wanted, wheels: Path, reader: Reader) -> dict[str, Any]:
    """The facts of one release. Ends the program where the reader does not understand it."""
    print(f"{wanted.distribution} {wanted.version}", file=sys.stderr, flush=True)
    with wheel_sources(package, wheel(wanted, wheels)) as sources:
        try:
            facts = reader(sources)
        except NotUnderstoodError as error:
            sys.exit(f"{wanted.distribution} {wanted.version}: not understood: {error}")
        for reason in sources.unreadable.values():
            print(f"  {reason}", file=sys.stderr)
    return {WHEEL: wanted.distribution, **facts}


def refresh_table(
    table: Table, package: str, reader: Reader, wanted: Releases, wheels: Path, *, fresh: bool
) -> None:
    """Read these releases anew; other versions in the file stay, unless it is to be ``fresh``."""
    releases = {} if fresh else table.read()
    for release in wanted.get(package, ()):
        releases[release.version] = read_wheel(package, release, wheels, reader)
    table.write(releases)
