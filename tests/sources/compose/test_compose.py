"""Compose files beyond what the cases show: splitting, variables, files beside, hostile input."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.files import TextFile
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE, Origin
from hmactl.sources.compose.interpolation import Interpolation
from hmactl.sources.compose.reader import read_compose
from hmactl.sources.compose.recognise import looks_like_compose
from hmactl.sources.compose.split import split_command
from hmactl.sources.given import Given
from hmactl.sources.process.deployment import documents
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word
from hmactl.sources.shell.value import Value, from_word, to_word
from hmactl.sources.yaml_nodes import read_documents


def _value(text: str) -> Value:
    return from_word(Word(text, Origin("x", 1, 1), places=places_of_file("x", text)))


# As github.com/mattn/go-shellwords has it.
SPLIT = {
    "a  b\tc\n d": ["a", "b", "c", "d"],
    "'a b' \"c d\"": ["a b", "c d"],
    "a'b'\"c\"d": ["abcd"],
    '"a\\"b"': ['a"b'],
    "'a\\b'": ["a\\b"],
    "a\\ b": ["a b"],
    "a\\tb": ["a\tb"],
    "''": [""],
    "a > b": ["a"],
    "a;b": ["a"],
    "'a;b'": ["a;b"],
    "# a": ["#", "a"],
    "a $(b c) d": ["a", "$(b c)", "d"],
    '{"a":1}': ["{a:1}"],
    "": [],
}


@pytest.mark.parametrize("text", SPLIT)
def test_split(text: str) -> None:
    assert [word.text for word in split_command(_value(text)).words] == SPLIT[text]


@pytest.mark.parametrize("text", ["'a", '"a', "a\\", "a (b)", "$(a"])
def test_what_cannot_be_split(text: str) -> None:
    assert split_command(_value(text)).refused is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$A-${A}-${A:-x}-${A-x}", "1-1-1-1"),
        ("${B:-x}${B-x}", "xx"),
        ("${E:-x}${E-x}${E}", "x"),
        ("${A:+x}${B:+x}${E:+x}${E+x}", "xx"),
        ("${B:-${C:-${A}}}", "1"),
        ("${A:?no}", "1"),
        ("$$A $${A}", "$A ${A}"),
        ("${B:-a}b}", "ab}"),
    ],
)
def test_variables(text: str, found: str) -> None:
    variables = {"A": Word("1", COMMAND_LINE), "E": Word("", COMMAND_LINE)}
    value = Interpolation(variables.get, {}, []).run(_value(text))
    word = to_word(value, places_of_file("x", text))
    assert (word.text, word.known) == (found, True)


@pytest.mark.parametrize("text", ["$(a)", "$", "$1", "${}", "${A", "${A!}"])
def test_what_is_no_variable(text: str) -> None:
    interpolation = Interpolation({"A": Word("1", COMMAND_LINE)}.get, {}, [])
    interpolation.run(_value(text))
    assert interpolation.invalid


def _read(text: str, files: dict[str, str] | None = None, **variables: str) -> tuple[Process, ...]:
    def read_file(path: str) -> TextFile | None:
        found = (files or {}).get(path)
        return None if found is None else TextFile(path, found, places_of_file(path, found))

    words = {name: Word(value, COMMAND_LINE) for name, value in variables.items()}
    return read_compose("compose.yaml", text, Given(words, read_file))


def _environment(process: Process) -> dict[str, str | None]:
    return {v.name: v.value.text if v.value.known else None for v in process.environment}


SERVICE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.12.0
    command: ["$MODEL"]
"""


def test_given_variables_and_the_file_beside() -> None:
    (process,) = _read(SERVICE, {".env": "MODEL=a # from the file\n"})
    assert [(w.text, str(w.origin)) for w in process.argv[2:]] == [("a", ".env:1:7")]
    (process,) = _read(SERVICE, {".env": "MODEL=a\n"}, MODEL="b")
    assert [w.text for w in process.argv[2:]] == ["b"]


def test_files_of_variables() -> None:
    text = (
        SERVICE
        + """\
    env_file:
      - one.env
      - path: two.env
        format: raw
      - path: three.env
        required: false
    environment: [E=own]
"""
    )
    one = (
        "A=1\nexport B='$A' # c\nC=\"${A}\\n2\"\nD: x#y\nE=file\n"
        'F="two\nlines"\nG\n\n# H=1\nI=${J}\n'
    )
    (process,) = _read(text, {"one.env": one, "two.env": 'K="kept"\n'})
    assert _environment(process) == {
        "A": "1",
        "B": "$A",
        "C": "1\n2",
        "D": "x#y",
        "E": "own",
        "F": "two\nlines",
        "G": None,
        "I": None,
        "K": '"kept"',
    }
    places = {v.name: str(v.origin) for v in process.environment}
    assert (places["B"], places["K"], places["E"]) == (
        "one.env:2:8",
        "two.env:1:1",
        "compose.yaml:11:19",
    )
    assert [(u.name, u.text) for u in process.unknown] == [(None, "env_file three.env")]


def test_a_mounted_file_of_lmcache() -> None:
    text = (
        SERVICE
        + """\
    environment: {LMCACHE_CONFIG_FILE: /etc/lmcache/config.yaml}
    volumes:
      - ./lmcache:/etc/lmcache:ro
      - models:/etc/other
"""
    )
    (process,) = _read(text, {"./lmcache/config.yaml": "chunk_size: 256\n"})
    assert [(f.path, str(f.place(1, 1))) for f in process.files] == [
        ("/etc/lmcache/config.yaml", "./lmcache/config.yaml:1:1")
    ]


BUILT = """\
ARG VERSION=0.11.1
FROM python:3.12
ARG VERSION
RUN pip install vllm==$VERSION
ENV MODEL=a LMCACHE_LOCAL_CPU=True
COPY start.sh /
ENTRYPOINT ["/start.sh"]
"""


def test_the_image_that_is_built() -> None:
    text = """\
services:
  vllm:
    build: {context: ./image, args: {VERSION: 0.12.0}}
    command: [--port, "80"]
    environment: {MODEL: b}
"""
    script = "#!/bin/bash\nexec vllm serve $MODEL $@\n"
    files = {"./image/Dockerfile": BUILT, "./image/start.sh": script}
    (document,) = documents(_read(text, files), vllm_flags())
    assert document.deployment is not None
    assert document.deployment.model.value == "b"
    assert [(s.name, s.value) for s in document.deployment.vllm] == [("port", 80)]
    assert {s.name: s.value for s in document.deployment.env} == {
        "MODEL": "b",
        "LMCACHE_LOCAL_CPU": "True",
    }
    assert document.deployment.target.vllm == "0.12.0"
    (process,) = _read(text)
    assert process.target.vllm is None


@pytest.mark.parametrize(
    ("keys", "shm"),
    [
        ("", 64 << 20),
        ("    shm_size: 2g\n", 2 << 30),
        ("    shm_size: 1024\n", 1024),
        ("    shm_size: ${SHM}\n", None),
        ("    ipc: host\n", None),
        ("    ipc: private\n", 64 << 20),
        ("    volumes: ['/dev/shm:/dev/shm']\n", None),
        ("    volumes: [{type: tmpfs, target: /dev/shm}]\n", None),
        ("    tmpfs: /dev/shm:size=8g\n", None),
        ("    extends: {file: base.yaml, service: gpu}\n", None),
    ],
)
def test_shared_memory(keys: str, shm: int | None) -> None:
    (process,) = _read(SERVICE + keys)
    assert process.target.shm == shm


@pytest.mark.parametrize(
    ("keys", "gpus"),
    [
        ("gpus: all", None),
        ("gpus: [{driver: nvidia, count: 2}]", 2),
        ("gpus: [{device_ids: ['0', '1', '2']}]", 3),
        ("deploy: {resources: {reservations: {devices: [{count: all}]}}}", None),
        ("deploy: {resources: {reservations: {devices: [{count: 4, driver: nvidia}]}}}", 4),
        ("deploy: {resources: {reservations: {devices: [{count: $N}]}}}", None),
    ],
)
def test_gpus(keys: str, gpus: int | None) -> None:
    (process,) = _read(f"{SERVICE}    {keys}\n")
    assert process.target.gpus == gpus


COMPLAINTS = {
    "command: ['m', '8000']": [],
    "command: ['m', 8000]": ["K8S026"],
    "command: m --max-model-len 8": [],
    "command: m \\\n      --max-model-len 8": ["K8S021"],
    "command: bash -c 'vllm serve m'": ["K8S020"],
    'command: m --x \'{"a":"b"}\'': [],
    'command: m --x {"a":"b"}': ["K8S025"],
    'command: m --x={"a":"b"}': ["K8S025"],
    "command: m $$X": [],
    "command: m $(x)": ["K8S022"],
    "command: m '&& y'": [],
    "command: m && y": ["K8S027"],
    "environment: ['A=\"x\"']": ["K8S024"],
    "environment: ['LMCACHE_X=\"x\"']": [],
    "environment: ['A=x']": [],
    'environment: {A: "x"}': [],
    "environment: {MODEL: m}\n    command: m --x ${MODEL}": ["K8S023"],
    "environment: {MODEL: '${MODEL}'}\n    command: m --x ${MODEL}": [],
    "environment: {A: 1, A: 2}": ["PRO003"],
}


@pytest.mark.parametrize("keys", COMPLAINTS)
def test_complaints(keys: str) -> None:
    (process,) = _read(
        f"services:\n  x:\n    image: vllm/vllm-openai\n    {keys}\n  y: {{image: z}}\n"
    )[:1]
    assert [f.id for f in process.findings] == COMPLAINTS[keys]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (SERVICE, True),
        ("services: {a: {build: .}}", True),
        ("services: {}", False),
        ("services: [a]", False),
        ("model: m\nvllm: {port: 8000}", False),
        ("apiVersion: v1\nkind: X\nservices: {a: {image: b}}", False),
        ("servingEngineSpec: {modelSpec: []}", False),
        ("- a", False),
    ],
)
def test_form(text: str, *, is_one: bool) -> None:
    root = read_documents("x", text, of_others=True)[0].root
    assert root is not None
    assert looks_like_compose(root) is is_one


_WORDS = st.sampled_from(
    ["$", "${", "}", "'", '"', "\\", "{", "m", " ", "\n", "--x", ":-", "=", "(", ")", ">"]
)


@given(st.lists(_WORDS).map("".join) | st.text())
def test_no_text_raises(text: str) -> None:
    _read(text)
    split_command(Interpolation(lambda _name: None, {}, []).run(_value(text)))


_YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("services", "image", "command", "entrypoint", "environment", "env_file"),
                    *("extends", "service", "file", "path", "volumes", "configs", "source"),
                    *("target", "deploy", "resources", "limits", "reservations", "devices"),
                    *("device_ids", "gpus", "ulimits", "memlock", "shm_size", "ipc", "tmpfs", "a"),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(_YAML)
def test_no_shape_raises(content: object) -> None:
    for document in ({"services": {"a": content}}, {"services": content}, content):
        _read(json.dumps(document), {"": "x"})


def test_text_that_doubles_itself_is_not_known() -> None:
    (process,) = _read(SERVICE, {".env": "MODEL=ab\n" + "MODEL=$MODEL$MODEL\n" * 100})
    assert not process.argv[2].known
