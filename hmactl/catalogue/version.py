"""Versions parsed once: they are compared thousands of times."""

from functools import lru_cache

from packaging.version import Version


@lru_cache(maxsize=4096)
def parsed(version: str) -> Version:
    """That version. Raises packaging.version.InvalidVersion."""
    return Version(version)
