"""LMCache's configuration file, as it was read."""

from dataclasses import dataclass

from hmactl.deployment.setting import Origin, Setting


@dataclass(frozen=True, slots=True)
class LMCacheFile:
    """What LMCACHE_CONFIG_FILE names.

    ``path`` is the variable's value and ``origin`` where it was written. ``text`` is None where
    there is no such file here, which says nothing about where the server will run. ``settings``
    are the file's keys with their places in it; empty where it is no mapping.
    """

    path: str
    origin: Origin
    text: str | None
    settings: tuple[Setting, ...] = ()
