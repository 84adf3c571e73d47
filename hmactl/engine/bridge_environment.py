"""The variables under which an engine's own start-up passes its environment's small faults.

bridge/sitecustomize.py says what the faults are and what is done about them.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hmactl.engine.find import Engine

_BRIDGE = Path(__file__).with_name("bridge")


def bridge_environment(engine: Engine, base: Mapping[str, str]) -> dict[str, str]:
    """What to add to ``base``, the environment that vLLM would start with; empty for a sound one.

    PYTHONPATH keeps what ``base`` has in it.
    """
    bridge: dict[str, str] = {}
    hidden = [name for name in engine.broken_media if name != "torchvision"]
    if hidden:
        bridge["HMACTL_BRIDGE_HIDE"] = ",".join(hidden)
    if "torchvision" in engine.broken_media:
        bridge["HMACTL_BRIDGE_TORCHVISION"] = "1"
    if engine.bridged and engine.vllm is not None:
        bridge["HMACTL_BRIDGE_VLLM"] = engine.vllm.name
    if bridge:
        # An empty entry would mean the current directory.
        given = [entry for entry in base.get("PYTHONPATH", "").split(os.pathsep) if entry]
        others = [entry for entry in given if entry != str(_BRIDGE)]
        bridge["PYTHONPATH"] = os.pathsep.join([str(_BRIDGE), *others])
    return bridge
