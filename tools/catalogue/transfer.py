"""KVTransferConfig and what else of vLLM matters to connectors: the file kv-transfer.json."""

from pathlib import Path
from typing import Any

from hmactl.catalogue.source.hashing import hashing
from hmactl.catalogue.source.lmcache_config import names_of_lmcache
from hmactl.catalogue.source.modules import Sources
from hmactl.catalogue.source.transfer import transfer_config

from .reading import Releases, refresh_table
from .table import Table

FILE = "kv-transfer.json"
ABOUT = (
    "The fields of vLLM's KVTransferConfig per release and what LMCache asks of vLLM, read from "
    "the source in released wheels by `python -m tools.catalogue kv-transfer`; not edited by "
    "hand. `versions` names the wheel's distribution of each version that was read; a run holds "
    "for each of those from `from` to `to`. made_by: the function that makes the default. "
    "others: whether a field that is none of these is ignored, as pydantic does, or refused by "
    "pydantic. lmcache: LMCache's variables and connector keys that vLLM's own source has. "
    "hashing: the names of its hash algorithms, and whether the first hash has a fixed seed "
    "where PYTHONHASHSEED is not set."
)


def refresh(wanted: Releases, wheels: Path, data: Path, *, fresh: bool) -> None:
    """Read these releases anew."""
    refresh_table(table(data), "vllm", read, wanted, wheels, fresh=fresh)


def table(data: Path) -> Table:
    """The file in that directory."""
    return Table(data / FILE, ABOUT, ("fields", "lmcache"), ("others", "hashing"))


def read(sources: Sources) -> dict[str, Any]:
    """What the source of one vLLM says."""
    names = names_of_lmcache(sources)
    return transfer_config(sources) | {
        "hashing": hashing(sources),
        "lmcache": {name: {} for name in sorted(names)},
    }
