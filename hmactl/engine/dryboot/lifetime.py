"""No process of a dry boot outlives the one that started it, or lingers when all has been said."""

import ctypes
import os
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone. A fork has to ask again."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def leave() -> NoReturn:
    """End now: interpreter shutdown of torch takes seconds and can crash."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
