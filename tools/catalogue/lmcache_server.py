"""The options of LMCache's server per release: the file lmcache-server.json."""

from pathlib import Path
from typing import Any

from hmactl.catalogue.source.modules import Sources
from hmactl.catalogue.source.server_options import server_options

from .reading import Releases, refresh_table
from .table import Table

FILE = "lmcache-server.json"
ABOUT = (
    "The options of `lmcache server` per release, and before 0.4.3 of the modules that were "
    "started as server, read from the source in released wheels by `python -m tools.catalogue "
    "lmcache-server`; not edited by hand. `versions` names the wheel's distribution of each "
    "version that was read; a run holds for each of those from `from` to `to`. takes: what stands "
    "behind the option. aliases: other spellings, the --no- form among them. type: what converts "
    "the value. choices: where only these values are taken. default_of, choices_of: the "
    "expression, where it is only known when it runs. required: the parser insists on it."
)


def refresh(wanted: Releases, wheels: Path, data: Path, *, fresh: bool) -> None:
    """Read these releases anew."""
    refresh_table(table(data), "lmcache", read, wanted, wheels, fresh=fresh)


def table(data: Path) -> Table:
    """The file in that directory."""
    return Table(data / FILE, ABOUT, named=("options",))


def read(sources: Sources) -> dict[str, Any]:
    """What the source of one LMCache says."""
    return server_options(sources)
