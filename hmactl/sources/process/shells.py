"""What runs behind ``sh -c SCRIPT`` and ``docker run``."""

import re
from dataclasses import replace

from hmactl.sources.container.docker_run import docker_run
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_SHEBANG = re.compile(r"#!\s*/\S*?(?:/|env\s+)(?:ba|da|a)?sh\b")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


def behind_shells(process: Process) -> tuple[Process, ...]:
    """The servers that a process starts by way of a shell or a container; else the process."""
    argv = process.argv
    for index, word in enumerate(argv):
        name = word.text.rpartition("/")[2] if word.known else ""
        if name in _CONTAINERS and (at := _run_at(process, index)) is not None:
            inside = docker_run(argv[at:], process)
            return () if inside is None else behind_shells(inside)
        if name in _SHELLS:
            return _behind_shell(process, index)
    return (bool(argv) and _behind_file(process, 0, by_itself=True)) or (process,)


def _run_at(process: Process, index: int) -> int | None:
    """Where the options of ``docker run`` and ``docker container run`` begin."""
    texts = [word.text for word in process.argv[index + 1 : index + 3]]
    if texts[:1] == ["run"]:
        return index + 2
    return index + 3 if texts == ["container", "run"] else None


def _behind_shell(process: Process, index: int) -> tuple[Process, ...]:
    argv = process.argv
    at = index + 1
    while at < len(argv) - 1 and (option := argv[at].text)[:1] in {"-", "+"}:
        if not option.startswith("--") and option.endswith("c"):
            from hmactl.sources.shell.script import read_script

            # The words behind the script are its $0, $1 and so on.
            return read_script(argv[at + 1], replace(process, argv=argv[at + 2 :]))
        # `-o pipefail` and `-euo pipefail` have a value.
        at += 2 if not option.startswith("--") and option[-1] in "oO" else 1
    return (at < len(argv) and _behind_file(process, at)) or (process,)


def _behind_file(process: Process, at: int, *, by_itself: bool = False) -> tuple[Process, ...]:
    """The servers of a script that is one of the process's files, such as a ConfigMap's.

    ``by_itself``: no shell is named, so the file must say that it is for one.
    """
    word = process.argv[at]
    file = next((f for f in process.files if word.known and f.path == word.text), None)
    if file is None:
        return ()
    if by_itself and not (file.path.endswith(".sh") or _SHEBANG.match(file.text)):
        return ()
    from hmactl.sources.shell.script import read_script

    # Without it among the files a script that starts itself comes to an end.
    others = tuple(each for each in process.files if each is not file)
    script = Word(file.text, file.places.at(0), places=file.places)
    return read_script(script, replace(process, argv=process.argv[at:], files=others))
