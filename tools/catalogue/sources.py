"""The reader of Python source that hmactl itself uses."""

from hmactl.catalogue.source.modules import (
    Called,
    External,
    Found,
    Meaning,
    Sources,
    Unknown,
    directory_sources,
    wheel_sources,
)

__all__ = [
    "Called",
    "External",
    "Found",
    "Meaning",
    "Sources",
    "Unknown",
    "directory_sources",
    "wheel_sources",
]
