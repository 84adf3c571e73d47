"""What runs behind ``sh -c SCRIPT``."""

from dataclasses import replace

from hmactl.sources.process.process import Process

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})


def behind_shells(process: Process) -> tuple[Process, ...]:
    """The servers that a process starts by way of a shell; without a shell, the process itself."""
    argv = process.argv
    for index, word in enumerate(argv):
        if not word.known or word.text.rpartition("/")[2] not in _SHELLS:
            continue
        for at in range(index + 1, len(argv) - 1):
            option = argv[at].text
            if not option.startswith("-"):
                break
            if not option.startswith("--") and option.endswith("c"):
                from hmactl.sources.shell.script import read_script

                # The words behind the script are its $0, $1 and so on.
                started = replace(process, argv=argv[at + 2 :])
                return read_script(argv[at + 1], started)
        break
    return (process,)
