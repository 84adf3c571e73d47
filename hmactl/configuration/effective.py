"""The effective settings, for ``hmactl config show``."""

from collections.abc import Iterator
from typing import Any

from hmactl.configuration.configuration import KEYS, Configuration
from hmactl.deployment.setting import Origin


def effective(configuration: Configuration) -> Iterator[tuple[str, Any, Origin]]:
    """Key, value as JSON has it, and origin of every setting, in a fixed order."""
    for key in KEYS:
        value = getattr(configuration, key.replace("-", "_"))
        if key == "per-path-ignores":
            value = {ignores.pattern: list(ignores.rules) for ignores in value}
        elif isinstance(value, tuple):
            value = list(value)
        elif value is not None:
            value = str(value)
        yield key, value, configuration.origin(key)
