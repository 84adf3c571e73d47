"""KVTransferConfig's fields per release: the file kv-transfer.json."""

from pathlib import Path

from hmactl.catalogue.source.transfer import transfer_config

from .reading import Releases, refresh_table
from .table import Table

FILE = "kv-transfer.json"
ABOUT = (
    "The fields of vLLM's KVTransferConfig per release, read from the source in released wheels by "
    "`python -m tools.catalogue kv-transfer`; not edited by hand. `versions` names the wheel's "
    "distribution of each version that was read; a run holds for each of those from `from` to "
    "`to`. made_by: the function that makes the default. others: whether a field that is none of "
    "these is ignored, as pydantic does, or refused by pydantic."
)


def refresh(wanted: Releases, wheels: Path, data: Path, *, fresh: bool) -> None:
    """Read these releases anew."""
    table = Table(data / FILE, ABOUT, named=("fields",), single=("others",))
    refresh_table(table, "vllm", transfer_config, wanted, wheels, fresh=fresh)
