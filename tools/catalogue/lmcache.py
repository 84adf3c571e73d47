"""The settings of LMCache in the vLLM process per release: the file lmcache.json."""

from pathlib import Path
from typing import Any

from hmactl.catalogue.source.lmcache_config import lmcache_config
from hmactl.catalogue.source.modules import Sources

from .reading import Releases, refresh_table
from .table import Table

FILE = "lmcache.json"
ABOUT = (
    "The settings of LMCache in the vLLM process per release, read from the source in released "
    "wheels by `python -m tools.catalogue lmcache`; not edited by hand. `versions` names the "
    "wheel's distribution of each version that was read; a run holds for each of those from "
    "`from` to `to`. keys: each is the variable LMCACHE_ with it in upper case too; converter: "
    "what makes a value of a variable's text and of the file's values (none: a variable over a "
    "file ends the loader). old_names: today's name, and whether the old one is taken. names: "
    "variables and connector keys that the source has. loading: over_file: variables replace "
    "what the file says, otherwise they are not read beside one; unquotes: a variable's value; "
    "unreadable_variable, unreadable_in_file: for a value that does not convert the default "
    "stays, none is set, or it ends the loader (an unreadable variable over a file always leaves "
    "the file's value); file_address_checked: the file's remote_url has to have ://; "
    "file_checked, variables_checked: when the checks run with a file, and whether they do "
    "without; makes_instance_id: where there is none; connector_keys: what becomes of a "
    "connector's lmcache.* keys; connector_json: an extra_config of them that is a text is JSON; "
    "hashes_by_name: vLLM is asked for the hash algorithm by its name (before, for two of them). "
    "A key that is none is left out with a warning, a variable without a word. checks: steps in "
    "their order: when all of `when` hold it refuses, or sets `key` `to` an expression, or "
    "forgets an `item` of `key`."
)


def refresh(wanted: Releases, wheels: Path, data: Path, *, fresh: bool) -> None:
    """Read these releases anew."""
    refresh_table(table(data), "lmcache", read, wanted, wheels, fresh=fresh)


def table(data: Path) -> Table:
    """The file in that directory."""
    return Table(data / FILE, ABOUT, ("keys", "old_names", "names"), ("loading", "checks"))


def read(sources: Sources) -> dict[str, Any]:
    """What the source of one LMCache says."""
    return lmcache_config(sources)
