"""A shell script in, the servers that it would start out."""

from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word


def read_script(script: Word, started: Process) -> tuple[Process, ...]:
    """The servers that a script starts, in its order; nothing of it is run.

    ``started`` is the shell: its ``argv`` are the script's ``$0``, ``$1`` and so on, and all else
    of it is what its servers inherit.
    """
    raise NotImplementedError(script, started)
