"""Units beyond what the cases show: words, variables, files of them, hostile input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.deployment.deployment import UNLIMITED
from hmactl.deployment.files import TextFile
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE
from hmactl.sources.given import Given
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word
from hmactl.sources.shell.value import Piece
from hmactl.sources.systemd.env_file import environment_file
from hmactl.sources.systemd.reader import read_systemd
from hmactl.sources.systemd.recognise import looks_like_systemd
from hmactl.sources.systemd.words import unit_words


def _read(service: str, files: dict[str, str] | None = None, **variables: str) -> Process:
    def read_file(path: str) -> TextFile | None:
        found = (files or {}).get(path)
        return None if found is None else TextFile(path, found, places_of_file(path, found))

    words = {name: Word(value, COMMAND_LINE) for name, value in variables.items()}
    text = f"[Service]\n{service}\n"
    (process,) = read_systemd("x.service", text, Given(words, read_file))
    return process


def _environment(process: Process) -> dict[str, str | None]:
    return {v.name: v.value.text if v.value.known else None for v in process.environment}


# As systemd's extract_first_word has them, with unquoting and C escapes.
WORDS = {
    "a  b\tc": ["a", "b", "c"],
    "'a b' \"c d\"": ["a b", "c d"],
    "a'b c'd": ["ab cd"],
    '\'{"a": "b"}\'': ['{"a": "b"}'],
    '"{\\"a\\": 1}"': ['{"a": 1}'],
    "'it\\'s'": ["it's"],
    "a\\x20b\\s\\t\\101": ["a b \tA"],
    "\\q": ["\\q"],
    "100%%": ["100%"],
    "''": [""],
    "": [],
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    words = unit_words(Piece(text, places_of_file("x", text)))
    assert [word.text for word in words] == WORDS[text]


ARGV: dict[str, list[str | None]] = {
    "ExecStart=/bin/vllm serve ${A} x${A}y $A": ["/bin/vllm", "serve", "1 2", "x1 2y", "1", "2"],
    "ExecStart=/bin/vllm serve x$A $$A '$A'": ["/bin/vllm", "serve", "x$A", "$A", "1", "2"],
    "ExecStart=:/bin/vllm serve ${A}": ["/bin/vllm", "serve", "${A}"],
    "ExecStart=@/bin/vllm name serve m": ["/bin/vllm", "serve", "m"],
    "ExecStart=-+/bin/vllm serve m": ["/bin/vllm", "serve", "m"],
    "ExecStart=%h/bin/vllm serve %i": ["%h/bin/vllm", "serve", None],
    "ExecStart=/bin/vllm serve $B ${B}c": ["/bin/vllm", "serve", None, None],
    "ExecStart=/bin/vllm serve ${B:-c}": ["/bin/vllm", "serve", "${B:-c}"],
    "ExecStart=/bin/vllm serve m > /log": ["/bin/vllm", "serve", "m"],
    "ExecStart=/bin/vllm serve <model>": ["/bin/vllm", "serve", "<model>"],
}


@pytest.mark.parametrize("line", ARGV)
def test_command(line: str) -> None:
    process = _read(f"Environment='A=1 2'\n{line}")
    assert [w.text if w.known else None for w in process.argv] == ARGV[line]


def test_what_is_given_and_what_files_hold() -> None:
    service = (
        "EnvironmentFile=/x.env\nEnvironment=A=1 B=2\nPassEnvironment=C D\n"
        "ExecStart=/bin/vllm serve $M"
    )
    process = _read(service, {"/x.env": "B=3\n"}, C="4", M="m")
    assert _environment(process) == {"A": "1", "B": "3", "C": "4", "D": None}
    assert [w.text for w in process.argv[2:]] == ["m"]
    assert str(process.environment[-1].origin) == "/x.env:1:1"
    assert [u.text for u in _read(service).unknown] == ["EnvironmentFile=/x.env"]


def test_file_of_variables() -> None:
    text = (
        '# c\n;c\n A = a b  \nB=\'c d\' # e\nC="f \\"g\\" \\q"\nD=h\\\ni\nE=$A\nno name=1\n'
        'F="j\nk"\nG=l\\ m\nH='
    )
    file = TextFile("x", text, places_of_file("x", text))
    found = {v.name: v.value.text for v in environment_file(file)}
    assert found == {
        "A": "a b",
        "B": "c d # e",
        "C": 'f "g" \\q',
        "D": "hi",
        "E": "$A",
        "F": "j\nk",
        "G": "l m",
        "H": "",
    }
    places = {v.name: v.origin.line for v in environment_file(file)}
    assert (places["A"], places["F"], places["G"]) == (3, 10, 12)


COMPLAINTS = {
    'ExecStart=/bin/vllm serve m --x \'{"a":"b"}\'': [],
    'ExecStart=/bin/vllm serve m --x {"a":"b"}': ["K8S025"],
    'ExecStart=/bin/vllm serve m --x={"a":"b"}': ["K8S025"],
    'Environment=\'A={"b":"c"}\'\nExecStart=/bin/vllm serve m': [],
    'Environment=A={"b":"c"}\nExecStart=/bin/vllm serve m': ["K8S025"],
    "ExecStart=/bin/vllm serve m --port=${PORT}": [],
    "ExecStart=/bin/vllm serve m --port=$PORT": ["K8S031"],
    "ExecStart=/bin/vllm serve m --port ${PORT:-80}": ["K8S031"],
    "ExecStart=/bin/bash -c 'vllm serve m --port=$PORT ${X:-1}'": [],
    "ExecStart=/bin/vllm serve m && echo": ["K8S032"],
    "ExecStart=/bin/vllm serve m 2>&1": ["K8S032"],
    "ExecStart=A=1 vllm serve m": ["K8S032"],
    "ExecStart=/bin/env A=1 vllm serve m": [],
    "Environment=PATH=/x:/y\nExecStart=/bin/vllm serve m": [],
    "Environment=PATH=/x:${PATH}\nExecStart=/bin/vllm serve m": ["K8S033"],
    "ExecStart=venv/bin/vllm serve m": ["K8S034"],
    "ExecStart=${HOME}/bin/vllm serve m": ["K8S034"],
    "ExecStart=%h/bin/vllm serve m": [],
    "ExecStart=vllm serve m": [],
}


@pytest.mark.parametrize("service", COMPLAINTS)
def test_complaints(service: str) -> None:
    assert [f.id for f in _read(service).findings] == COMPLAINTS[service]


@pytest.mark.parametrize(
    ("line", "memlock", "memory"),
    [
        ("", None, None),
        ("LimitMEMLOCK=infinity", UNLIMITED, None),
        ("LimitMEMLOCK=64M", 64 << 20, None),
        ("MemoryMax=64G", None, 64 << 30),
        ("MemoryMax=80%", None, None),
        ("MemoryMax=infinity", None, None),
    ],
)
def test_limits(line: str, memlock: int | None, memory: int | None) -> None:
    target = _read(f"{line}\nExecStart=/bin/vllm serve m").target
    assert (target.memlock, target.memory_limit) == (memlock, memory)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("[Unit]\nDescription=x\n[Service]\nExecStart=/bin/x\n", True),
        ("# c\n\n[Container]\nImage=x\n", True),
        ("[Unit]\nDescription=x\n", False),
        ("[tool.ruff]\nline-length = 100\n", False),
        ("#!/bin/bash\nset -e\ncat > x <<EOF\n[Service]\nExecStart=/bin/x\nEOF\n", False),
        ("- [Service]\n", False),
        ("", False),
    ],
)
def test_form(text: str, *, is_one: bool) -> None:
    assert looks_like_systemd(text) is is_one


_PIECES = st.sampled_from(
    [
        *(
            "[Service]\n",
            "[Container]\n",
            "ExecStart=",
            "Environment=",
            "EnvironmentFile=",
            "Image=",
        ),
        *("Exec=", "PodmanArgs=", "LimitMEMLOCK=", "\n", "\\\n", "\\", "$", "${", "}", "%i", "%"),
        *('"', "'", "{", "=", "A", " ", "/bin/vllm serve m", ";", "#", "@-:", "x$A", "\\x4", "$A "),
    ]
)


@given(st.lists(_PIECES).map("".join) | st.text())
def test_no_text_raises(text: str) -> None:
    looks_like_systemd(text)
    read_systemd("x", text, Given())
    read_systemd("x", f"[Service]\n{text}", Given())
    list(environment_file(TextFile("x", text, places_of_file("x", text))))
