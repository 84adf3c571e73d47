"""The data files that ship with hmactl."""

import json
from pathlib import Path
from typing import Any

_DIRECTORY = Path(__file__).parent / "data"


def load(name: str) -> Any:
    """What is in a data file, by its path in the directory of them."""
    return json.loads((_DIRECTORY / name).read_text("utf-8"))
