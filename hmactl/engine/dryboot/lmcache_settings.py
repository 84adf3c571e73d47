"""What LMCache's own loader makes of the deployment's in-process settings."""

import difflib
from typing import Any


def effective(keys: list[str]) -> dict[str, Any] | None:
    """The loader's value for each key, and the keys that it does not know.

    Reads the environment of this process as LMCache in the engine would. None where LMCache is
    not installed or has no such loader.
    """
    try:
        from lmcache.v1.config import _CONFIG_DEFINITIONS, LMCacheEngineConfig
    except ImportError:
        return None
    known = list(_CONFIG_DEFINITIONS)
    loaded = LMCacheEngineConfig.from_env()
    return {
        "values": {key: getattr(loaded, key) for key in keys if key in known},
        "unknown": {
            key: difflib.get_close_matches(key, known, n=3, cutoff=0.7)
            for key in keys
            if key not in known
        },
    }
