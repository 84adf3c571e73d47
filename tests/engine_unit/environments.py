"""Python environments made for a test: real interpreters, made-up distributions."""

import os
import subprocess
import sys
from pathlib import Path

# Another interpreter can be named, because an engine's need not be the one that runs hmactl.
_BASE = os.environ.get("HMACTL_TEST_PYTHON", sys.executable)


class Environment:
    """A virtual environment with nothing in it, not even pip."""

    def __init__(self, directory: Path) -> None:
        make = [_BASE, "-m", "venv", "--without-pip", str(directory)]
        subprocess.run(make, check=True)
        self.python = directory / "bin" / "python"
        self.packages = next(directory.glob("lib/python3.*/site-packages"))

    def add_package(self, name: str, source: str = "") -> Path:
        """A top-level package; returns its directory."""
        package = self.packages / name
        package.mkdir()
        (package / "__init__.py").write_text(source)
        return package

    def add_distribution(
        self, name: str, version: str, *, top_level: str = "", entry_points: str = ""
    ) -> None:
        """Installed metadata, without any package."""
        info = self.packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
            "Requires-Dist: numpy\n\nThe description.\nVersion: not a header\n"
        )
        (info / "top_level.txt").write_text(f"{top_level or name}\n")
        (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
        if entry_points:
            (info / "entry_points.txt").write_text(entry_points)
