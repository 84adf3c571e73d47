"""The configuration that holds for a path."""

import os
from pathlib import Path

from hmactl.configuration.configuration import Configuration
from hmactl.configuration.discover import discover


def load_configuration(start: Path, file: Path | None = None) -> Configuration:
    """What ``file`` says, or else the nearest configuration at ``start`` or above it.

    Raises ConfigurationError for one that cannot be used.
    """
    if file is None:
        found = discover(start)
        if found is None:
            return Configuration()
        file = Path(os.path.relpath(found))
    from hmactl.configuration.read import read_configuration

    return read_configuration(file)
