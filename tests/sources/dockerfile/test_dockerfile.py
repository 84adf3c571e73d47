"""Dockerfiles beyond what the cases show: words, lists, releases, files, hostile input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.files import TextFile
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE
from hmactl.sources.dockerfile.instructions import read_instructions
from hmactl.sources.dockerfile.pins import installed
from hmactl.sources.dockerfile.reader import read_dockerfile
from hmactl.sources.dockerfile.recognise import looks_like_dockerfile
from hmactl.sources.given import Given
from hmactl.sources.process.deployment import documents
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word


def _read(text: str, files: dict[str, str] | None = None, **variables: str) -> Process:
    def read_file(path: str) -> TextFile | None:
        found = (files or {}).get(path)
        return None if found is None else TextFile(path, found, places_of_file(path, found))

    words = {name: Word(value, COMMAND_LINE) for name, value in variables.items()}
    (process,) = read_dockerfile("Dockerfile", text, Given(words, read_file))
    return process


def _environment(process: Process) -> dict[str, str | None]:
    return {v.name: v.value.text if v.value.known else None for v in process.environment}


ENVIRONMENT: dict[str, dict[str, str | None]] = {
    "ENV A=1 B='2 3' C=\"4 5\" D=6\\ 7": {"A": "1", "B": "2 3", "C": "4 5", "D": "6 7"},
    "ENV A the rest 'of it'": {"A": "the rest of it"},
    "ENV A=1\nENV A=2 B=$A": {"A": "2", "B": "1"},
    "ENV A=1\nENV B=${A}x C='$A' D=\"\\$A\" E=\\$A": {
        "A": "1",
        "B": "1x",
        "C": "$A",
        "D": "$A",
        "E": "$A",
    },
    "ENV A=${B:-x} C=${B-y} D=${B:+z}": {"A": "x", "C": "y", "D": ""},
    "ENV PATH=/x:$PATH": {"PATH": None},
    "ARG A=1\nENV B=$A": {"B": "1"},
    "ARG A\nENV B=$A": {"B": None},
    "ENV A=$": {"A": "$"},
    'ENV A={"b":1}': {"A": None},
    "ENV A='{\"b\":1}'": {"A": '{"b":1}'},
    'ENV A="{\\"b\\":1}"': {"A": '{"b":1}'},
    "env a=1": {"a": "1"},
}


@pytest.mark.parametrize("text", ENVIRONMENT)
def test_environment(text: str) -> None:
    assert _environment(_read(f"FROM x\n{text}\n")) == ENVIRONMENT[text]


def test_arguments_of_the_build_are_given() -> None:
    text = "ARG TAG=v0.12.0\nFROM vllm/vllm-openai:$TAG\nARG TAG\nARG M=a\nENV T=$TAG M=$M\n"
    assert _environment(_read(text)) == {"T": "v0.12.0", "M": "a"}
    process = _read(text, TAG="v0.13.0", M="b")
    assert _environment(process) == {"T": "v0.13.0", "M": "b", "TAG": "v0.13.0"}
    assert process.target.vllm == "0.13.0"


ARGV = {
    'FROM vllm/vllm-openai\nCMD ["m"]': ["vllm", "serve", "m"],
    'FROM x\nENTRYPOINT ["vllm", "serve"]\nCMD ["m"]': ["vllm", "serve", "m"],
    'FROM x\nCMD ["m"]\nENTRYPOINT ["vllm", "serve"]': ["vllm", "serve", "m"],
    "FROM x\nCMD vllm serve m": ["/bin/sh", "-c", "vllm serve m"],
    'FROM x\nSHELL ["bash", "-c"]\nCMD vllm serve m': ["bash", "-c", "vllm serve m"],
    'FROM vllm/vllm-openai\nENTRYPOINT []\nCMD ["vllm", "serve", "m"]': [*("vllm", "serve", "m")],
    'FROM x AS a\nCMD ["m"]\nFROM a\nENTRYPOINT ["vllm", "serve"]': ["vllm", "serve"],
    'FROM x AS a\nENTRYPOINT ["vllm", "serve"]\nFROM A\nCMD ["m"]': ["vllm", "serve", "m"],
    'FROM x AS a\nCMD ["m"]\nFROM y\nENTRYPOINT ["vllm", "serve"]': ["vllm", "serve"],
    'FROM x\nCMD ["a"]\nCMD ["vllm", "serve", "m"]': ["vllm", "serve", "m"],
}


@pytest.mark.parametrize("text", ARGV)
def test_what_is_started(text: str) -> None:
    assert [word.text for word in _read(text).argv] == ARGV[text]


COMPLAINTS = {
    'CMD ["vllm", "serve", "m"]': [],
    "CMD ['vllm', 'serve', 'm']": ["K8S028"],
    'CMD ["vllm", "serve", "m",]': ["K8S028"],
    "CMD [ -f /x ] && vllm serve m": [],
    'CMD ["vllm", "serve", "$M"]': ["K8S029"],
    'CMD ["sh", "-c", "vllm serve $M"]': [],
    'CMD ["start", "$M"]': [],
    "CMD vllm serve $M": [],
    'ENTRYPOINT vllm serve\nCMD ["m"]': ["K8S030"],
    'ENTRYPOINT ["vllm", "serve"]\nCMD ["m"]': [],
    'ENV A={"b":"c"}': ["K8S025"],
    'ENV A=\'{"b":"c"}\'': [],
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str) -> None:
    assert [f.id for f in _read(f"FROM x\n{text}\n").findings] == COMPLAINTS[text]


@pytest.mark.parametrize("text", ["CMD vllm serve m", 'CMD ["vllm", "serve", "m"]'])
def test_a_command_behind_an_image_that_serves(text: str) -> None:
    (finding,) = _read(f"FROM vllm/vllm-openai:v0.12.0\n{text}\n").findings
    assert finding.id == "K8S020"


INSTALLS: dict[str, list[tuple[str, str | None]]] = {
    "pip install vllm==0.12.0 lmcache==0.3.10": [("vllm", "0.12.0"), ("lmcache", "0.3.10")],
    "uv pip install --system 'vllm[flashinfer]==0.13.0+cu129'": [("vllm", "0.13.0")],
    "apt-get update && pip install vllm==0.12.0 && echo vllm==0.1.0": [("vllm", "0.12.0")],
    "pip install vllm": [],
    "pip install -U vllm": [("vllm", None)],
    "pip install 'vllm<0.12'": [("vllm", None)],
    "pip install --upgrade vllm-flash-attn": [],
    "pip install https://x/vllm-0.12.0+cu129-cp38-abi3-manylinux1_x86_64.whl": [("vllm", "0.12.0")],
    "pip install git+https://github.com/LMCache/LMCache.git@dev": [("lmcache", None)],
    "git clone https://github.com/vllm-project/vllm.git && cd vllm && pip install -e .": [
        ("vllm", None)
    ],
    "git clone https://github.com/x/vllm-tools": [],
    "echo vllm==0.12.0": [],
}


@pytest.mark.parametrize("command", INSTALLS)
def test_releases(command: str) -> None:
    assert list(installed(command)) == INSTALLS[command]


def test_files_that_are_copied() -> None:
    text = """\
FROM vllm/vllm-openai:v0.12.0
WORKDIR /app
COPY lmcache.yaml ./conf/
COPY . .
ENV LMCACHE_CONFIG_FILE=/app/conf/lmcache.yaml
CMD ["--config", "vllm.yaml"]
"""
    process = _read(text, {"lmcache.yaml": "chunk_size: 256\n", "./vllm.yaml": "model: m\n"})
    assert [(f.path, f.places.source) for f in process.files] == [
        ("/app/conf/lmcache.yaml", "lmcache.yaml"),
        ("vllm.yaml", "./vllm.yaml"),
    ]
    (document,) = documents([process], vllm_flags())
    assert document.deployment is not None
    assert str(document.deployment.model.origin) == "./vllm.yaml:1:1"


def test_a_script_that_is_copied() -> None:
    text = 'FROM x\nCOPY start.sh /\nENV PORT=80\nENTRYPOINT ["/start.sh"]\nCMD ["m"]\n'
    script = '#!/bin/sh\nexec vllm serve "$1" --port $PORT\n'
    (document,) = documents([_read(text, {"start.sh": script})], vllm_flags())
    assert document.deployment is not None
    assert document.deployment.model.value == "m"
    (port,) = document.deployment.vllm
    assert (port.value, str(port.origin)) == (80, "start.sh:2:22")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("FROM vllm/vllm-openai\n", True),
        ("# syntax=x\n\nARG A=b\nfrom x AS y\n", True),
        ("FROM --platform=linux/amd64 x\n", True),
        ("from vllm import LLM\n", False),
        ("FROM: x\n", False),
        ("FROM x y z\n", False),
        ("#!/bin/bash\nexport A=b\n", False),
        ("[Unit]\n", False),
        ("", False),
        ("\n" * 10_000, False),
    ],
)
def test_form(text: str, *, is_one: bool) -> None:
    assert looks_like_dockerfile(text) is is_one


_PIECES = st.sampled_from(
    [
        *("FROM ", "ENV ", "ARG ", "CMD ", "COPY ", "RUN ", "ENTRYPOINT ", "SHELL ", "WORKDIR "),
        *("\n", "\\\n", "<<A", "A", "A\n", "x", "=", '"', "'", "[", "]", ",", "$", "{", "}", ":-"),
        *(" ", "# escape=`\n", "`", "pip install vllm==", "vllm serve", "AS a", "\\", "\r\n", "/"),
    ]
)


@given(st.lists(_PIECES).map("".join) | st.text())
def test_no_text_raises(text: str) -> None:
    read_dockerfile("x", f"FROM x\n{text}", Given())
    read_dockerfile("x", text, Given())
    for instruction in read_instructions("x", text).all:
        place = instruction.rest.places.at(0)
        assert 1 <= (place.line or 0) <= text.count("\n") + 1


def test_text_that_doubles_itself_is_not_known() -> None:
    process = _read("FROM x\nENV A=ab\n" + "ENV A=$A$A\n" * 100)
    assert _environment(process) == {"A": None}


def test_instructions_and_stages_have_a_bound() -> None:
    assert len(read_instructions("x", "RUN a\n" * 10_000).all) == 5000
    process = _read("".join(f"FROM x\nENV A{n}=b\n" for n in range(1000)))
    assert len(process.environment) < 1000
