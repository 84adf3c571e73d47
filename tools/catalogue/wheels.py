"""Wheels of the versions asked for, from a directory or downloaded into it."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version


@dataclass(frozen=True, slots=True)
class Wanted:
    """One release of a distribution."""

    distribution: str
    version: str


def parse_wanted(text: str, distribution: str) -> list[Wanted]:
    """Releases from `0.32.0,vllm==0.33.0`; without a name they are of ``distribution``."""
    wanted = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, version = item.rpartition("==")
        wanted.append(Wanted(name or distribution, str(Version(version))))
    return wanted


def wheel(wanted: Wanted, directory: Path) -> Path:
    """The wheel of that release in ``directory``, downloaded with pip if it is not there.

    Raises subprocess.CalledProcessError where pip finds none.
    """
    found = _find(wanted, directory)
    if found is None:
        directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "-d", str(directory)]
        subprocess.run([*command, f"{wanted.distribution}=={wanted.version}"], check=True)
        found = _find(wanted, directory)
    if found is None:
        raise FileNotFoundError(f"pip left no wheel of {wanted} in {directory}")
    return found


def _find(wanted: Wanted, directory: Path) -> Path | None:
    for path in sorted(directory.glob("*.whl")):
        name, version, _, _ = parse_wheel_filename(path.name)
        if name == canonicalize_name(wanted.distribution) and version == Version(wanted.version):
            return path
    return None
