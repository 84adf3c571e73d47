"""Which configuration file is meant."""

import os
from pathlib import Path

from hmactl.sources.text_file import read_text

NAMES = (".hmactl.yaml", ".hmactl.yml")
PYPROJECT = "pyproject.toml"


def discover(start: Path) -> Path | None:
    """The configuration file in the directory of a path or above it; None if there is none.

    The nearest one counts, and is not added to others. The search ends at the top of the
    repository. A pyproject.toml without `[tool.hmactl]` is passed over.
    """
    here = Path(os.path.abspath(start))  # noqa: PTH100 - links are not followed: what is shown counts
    directories = [here, *here.parents] if here.is_dir() else list(here.parents)
    for directory in directories:
        for name in NAMES:
            if (directory / name).is_file():
                return directory / name
        if _has_section(directory / PYPROJECT):
            return directory / PYPROJECT
        if (directory / ".git").exists():
            return None
    return None


def _has_section(path: Path) -> bool:
    text = read_text(path)
    if text is None or "hmactl" not in text:
        return False
    import tomllib

    try:
        tools = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return isinstance(tools, dict) and "hmactl" in tools
