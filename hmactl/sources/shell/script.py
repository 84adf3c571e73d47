"""A shell script in, the servers that it would start out."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file, places_of_point
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.finding import Finding, Severity
from hmactl.sources.given import Given
from hmactl.sources.process.process import Process
from hmactl.sources.process.program import Program, find_command
from hmactl.sources.process.shells import behind_shells
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.shell.run import Run, States
from hmactl.sources.shell.state import Node, State
from hmactl.sources.shell.tree import Script, parse
from hmactl.sources.shell.value import Value, from_word, to_word
from hmactl.sources.wording import shortened

_MOST_NESTED = 8
# Commands that only name a server, and start none.
_NO_STARTERS = frozenset(
    {
        *("echo", "printf", "cat", "grep", "egrep", "rg", "sed", "awk", "log", "info", "warn"),
        *("pkill", "pgrep", "kill", "killall", "ps", "which", "type", "command", "alias", "trap"),
        *("pip", "pip3", "uv", "conda", "apt", "apt-get", "git", "mkdir", "cd", "ls", "test"),
    }
)
# Commands that take a command line as one word.
_TAKE_A_LINE = frozenset({"tmux", "screen", "ssh", "su", "watch", "xterm", "parallel"})
_OF_THE_ENGINE = re.compile(
    r"(LMCACHE|VLLM|NCCL|UCX|HF|NIXL|MOONCAKE|TORCH|PYTORCH|TRITON|FLASHINFER)_[A-Z0-9_]+"
    r"|PYTHONHASHSEED|CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING|HUGGING_FACE_HUB_TOKEN"
)
_COMMENT_LINE = re.compile(r"(?m)^\s*#.*$")
_USE = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\b(?!\+?=)")
_SERVERS = re.compile(r"vllm|lmcache")


def read_shell(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """The servers that a script starts when it is called without arguments."""
    script = Word(text, Origin(source, 1, 1), places=places_of_file(source, text))
    variables = tuple(Variable(n, w, w.origin) for n, w in given.variables.items())
    stem = "stdin" if source == "-" else PurePath(source).stem
    name = () if source == "-" else (Word(source, script.origin),)
    started = Process(source, Form.SHELL, stem, name, variables)
    return told_apart(_best(read_script(script, started)))


def read_script(script: Word, started: Process) -> tuple[Process, ...]:
    """The servers that a script starts, in its order; nothing of it is run.

    ``started`` is the shell: its ``argv`` are the script's ``$0``, ``$1`` and so on, and all else
    of it is what its servers inherit. A server that is started in several ways, because the script
    may go several ways before it comes to it, is there once for each.
    """
    scripts = (f for f in started.files if f.path in script.text and _SERVERS.search(f.text))
    if not _SERVERS.search(script.text) and next(scripts, None) is None:
        return ()
    found = _Reading(started).read(script)
    # A script that always leaves before it starts anything was understood wrongly somewhere.
    return found or _Reading(started, past_exits=True).read(script)


class _Reading:
    def __init__(self, started: Process, *, past_exits: bool = False) -> None:
        self._started = started
        self._past_exits = past_exits
        self._found: dict[object, Process] = {}
        self._nested = 0
        self._referred: frozenset[str] = frozenset()

    def read(self, script: Word) -> tuple[Process, ...]:
        self._referred = frozenset(_USE.findall(_COMMENT_LINE.sub("", script.text)))
        started = self._started
        state = State(
            variables={v.name: from_word(v.value) for v in started.environment},
            exported={variable.name for variable in started.environment},
            arguments=tuple(map(from_word, started.argv[1:])) or None,
            files={file.path: file for file in started.files},
            assigned={v.name: places_of_point(v.origin) for v in started.environment},
        )
        if started.argv:
            state.variables["0"] = from_word(started.argv[0])
            state.variables["BASH_SOURCE"] = [from_word(started.argv[0])]
        self._run(parse(script.text, script.where()), state)
        return tuple(self._found.values())

    def _run(self, script: Script, state: State) -> States:
        def launch(words: Sequence[Value], node: Node, state: State) -> bool:
            return self._launch(script, words, node, state)

        run = Run(script, launch, self._eval, past_exits=self._past_exits)
        return run.whole(state)

    def _eval(self, text: Value, state: State) -> States:
        # Where a part of it is not known, it stands there as written and is not known again.
        if not text or self._nested >= _MOST_NESTED:
            return [state]
        self._nested += 1
        try:
            word = to_word(text, text[0].places)
            return self._run(parse(word.text, word.where()), state)
        finally:
            self._nested -= 1

    def _launch(self, script: Script, words: Sequence[Value], node: Node, state: State) -> bool:
        """Note what a command starts; True where that is a server."""
        place = script.place(node)
        argv = tuple(to_word(word, place) for word in words)
        name = argv[0].text.rpartition("/")[2] if argv and argv[0].known else ""
        if name.startswith("-"):
            self._note_stray_line(argv[0])
        if not argv or name in _NO_STARTERS:
            return False
        process = replace(
            self._started,
            argv=argv,
            environment=tuple(_environment(state)),
            files=tuple(state.files.values()),
        )
        if node.has_error:
            unreadable = Unknown(Area.VLLM, None, "(what the shell cannot read)", argv[0].origin)
            process = replace(process, unknown=(*process.unknown, unreadable))
        if name in _TAKE_A_LINE and any(" " in word.text for word in argv):
            line = next(word for word in reversed(argv) if " " in word.text)
            started = read_script(line, replace(process, argv=()))
        else:
            started = behind_shells(process)
        servers = [each for each in started if find_command(each.argv) is not None]
        for server in servers:
            found = (*server.findings, *_not_exported(state, self._referred))
            key = (server.argv, server.environment, server.files)
            self._found.setdefault(key, replace(server, findings=found))
        return bool(servers)

    def _note_stray_line(self, word: Word) -> None:
        """A line of options that the shell takes for a command of its own."""
        above = [
            key
            for key, process in self._found.items()
            if (process.argv[0].origin.line or 0) < (word.origin.line or 0)
        ]
        if not above:
            return
        finding = Finding(
            "CLI007",
            Severity.ERROR,
            f"the line of `{shortened(word.text)}` is no part of the command above it",
            "the shell has ended that command before this line and takes this one for a program, "
            "so its options are not used",
            "end each line above it with a backslash as the very last character, and put comments "
            "in front of the command or behind it",
            word.origin,
        )
        process = self._found[above[-1]]
        if finding not in process.findings:
            self._found[above[-1]] = replace(process, findings=(*process.findings, finding))


def _environment(state: State) -> list[Variable]:
    found = []
    for name, value in state.variables.items():
        if name in state.exported and isinstance(value, tuple):
            place = state.assigned[name]
            found.append(Variable(name, to_word(value, place), place.at(0)))
    return found


def _not_exported(state: State, referred: frozenset[str]) -> list[Finding]:
    """Variables that look as if they were meant for the server, and stay in the shell.

    ``referred`` are those that the script itself uses somewhere, and so may have for itself.
    """
    return [
        Finding(
            "ENV003",
            Severity.ERROR,
            f"`{name}` is set in the shell but not exported",
            "the server does not see it, so the setting has no effect",
            f"write `export {name}=...`",
            state.assigned[name].at(0),
        )
        for name, value in state.variables.items()
        if isinstance(value, tuple)
        and name not in state.exported
        and name not in referred
        and _OF_THE_ENGINE.fullmatch(name)
    ]


def _best(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """Without the ways in which a command lacks arguments of the script, if there is another."""

    def lacks(process: Process) -> bool:
        return any(need.isdigit() for word in process.argv for need in word.needs)

    complete = {p.argv[0].origin for p in processes if not lacks(p)}
    return tuple(p for p in processes if not lacks(p) or p.argv[0].origin not in complete)


def told_apart(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """The script's name, with the line where it starts several engines."""
    lines = [process.argv[0].origin.line for process in processes if _is_engine(process)]
    named, seen = [], []
    for process in processes:
        line, name = process.argv[0].origin.line, process.name
        if _is_engine(process):
            seen.append(line)
            if len(set(lines)) > 1:
                name += f":{line}"
            if lines.count(line) > 1:
                name += f" ({seen.count(line)} of {lines.count(line)})"
        named.append(replace(process, name=name))
    return tuple(named)


def _is_engine(process: Process) -> bool:
    command = find_command(process.argv)
    return command is not None and command.program is not Program.LMCACHE_SERVER
