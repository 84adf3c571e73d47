"""`docker run` as Docker's own command line reads it: options, the image, the rest."""

import shlex
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.deployment.deployment import UNLIMITED
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Origin
from hmactl.sources.container.docker_run import docker_run
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word

IMAGE = "vllm/vllm-openai:v0.12.0"
SERVES = ["vllm", "serve"]


def _words(line: str) -> tuple[Word, ...]:
    """What a shell makes of the line; a word with `$` is not known to it."""
    return tuple(
        Word(text, Origin("run.sh", 1, n + 1), known="$" not in text, several=text.startswith("$"))
        for n, text in enumerate(shlex.split(line))
    )


def _shell(**world: Any) -> Process:
    return Process("run.sh", Form.SHELL, "run", (), **world)


def _run(line: str, **world: Any) -> Process:
    found = docker_run(_words(line), _shell(**world))
    assert found is not None
    return found


ARGUMENTS = {
    f"{IMAGE} --model m": [*SERVES, "--model", "m"],
    f"--rm -it --gpus all {IMAGE} m": [*SERVES, "m"],
    f"-dit --init -p 8000:8000 {IMAGE} m": [*SERVES, "m"],
    f"-p8000:8000 -itv /a:/b {IMAGE} m": [*SERVES, "m"],
    f"--rm=true --ipc host --network=host {IMAGE} m --port 80": [*SERVES, "m", "--port", "80"],
    f"--oom-score-adj -500 --memory-swap -1 {IMAGE} m": [*SERVES, "m"],
    f"--runtime nvidia --restart unless-stopped --name x {IMAGE} m": [*SERVES, "m"],
    f"--entrypoint bash {IMAGE} -c 'vllm serve m'": ["bash", "-c", "vllm serve m"],
    f"--entrypoint= {IMAGE} vllm serve m": ["vllm", "serve", "m"],
    f"--entrypoint '' {IMAGE} vllm serve m": ["vllm", "serve", "m"],
    "--pull always ubuntu:24.04 vllm serve m": ["vllm", "serve", "m"],
    "--newer-option value ubuntu vllm serve m": ["vllm", "serve", "m"],
    "--newer-switch -d ubuntu vllm serve m": ["vllm", "serve", "m"],
    "$IMAGE m --kv-transfer-config x": [*SERVES, "m", "--kv-transfer-config", "x"],
    "$OPTIONS -d ubuntu vllm serve m": ["vllm", "serve", "m"],
    "$OPTIONS registry/image:1 vllm serve m": ["vllm", "serve", "m"],
    "$IMAGE --model m --served-model-name n": [
        *(*SERVES, "--model", "m", "--served-model-name", "n")
    ],
    "registry/mine:1 ./start.sh --max-model-len 8": ["./start.sh", "--max-model-len", "8"],
}


@pytest.mark.parametrize("line", ARGUMENTS)
def test_arguments_of_the_container(line: str) -> None:
    assert [word.text for word in _run(line).argv] == ARGUMENTS[line]


def test_without_an_image_there_is_nothing() -> None:
    assert docker_run(_words("-d --name x"), _shell()) is None
    assert docker_run((), _shell()) is None


TARGETS: dict[str, dict[str, Any]] = {
    "": {"shm": 64 << 20},
    "--gpus all --shm-size 16g": {"shm": 16 << 30},
    "--gpus '\"device=0,1\"'": {"shm": 64 << 20, "gpus": 2},
    "--gpus device=3 --ipc=host": {"gpus": 1},
    "--gpus 4 --ipc host -m 64g": {"gpus": 4, "memory_limit": 64 << 30},
    "--gpus count=2,capabilities=gpu --ipc=host": {"gpus": 2},
    "--gpus $N --shm-size $S": {},
    "--device nvidia.com/gpu=0 --device nvidia.com/gpu=1 --ipc=host": {"gpus": 2},
    "--device nvidia.com/gpu=all --ipc=host": {},
    "--ipc=private --shm-size=1024": {"shm": 1024},
    "--ipc=container:other": {},
    "-v /dev/shm:/dev/shm": {},
    "--ulimit memlock=-1 --ulimit stack=67108864 --ipc=host": {"memlock": UNLIMITED},
    "--ulimit memlock=65536:131072 --ipc=host": {"memlock": 65536},
    "--memory 1.5GiB --ipc=host": {"memory_limit": 3 << 29},
}


@pytest.mark.parametrize("options", TARGETS)
def test_target(options: str) -> None:
    target = _run(f"{options} {IMAGE} m").target
    found = {f.name: value for f in fields(target) if (value := getattr(target, f.name))}
    found.pop("gpu_origin")
    assert found.pop("vllm") == "0.12.0"
    assert found == TARGETS[options]


def _environment(process: Process) -> dict[str, str | None]:
    return {v.name: v.value.text if v.value.known else None for v in process.environment}


def test_variables_come_by_options_only() -> None:
    home, key = Origin("run.sh", 9, 1), Origin("run.sh", 8, 1)
    inherited = (
        Variable("HF_HOME", Word("/hf", home), home),
        Variable("HF_TOKEN", Word("secret", key), key),
    )
    process = _run(
        f"-e HF_HOME -eA=1 --env B=x=y -e C= -e E=$E -e D {IMAGE} m", environment=inherited
    )
    assert _environment(process) == {
        "HF_HOME": "/hf",
        "A": "1",
        "B": "x=y",
        "C": "",
        "E": None,
        "D": None,
    }
    assert process.environment[0].origin == home
    assert process.environment[-1].value.needs == ("D",)


def test_a_variable_stands_where_its_name_does() -> None:
    text = "-eLMCACHE_CHUNK_SIZE=256"
    places = places_of_file("run.sh", text)
    word = Word(text, places.at(0), places=places)
    process = docker_run((word, *_words(f"{IMAGE} m")), _shell())
    assert process is not None
    variable = process.environment[0]
    assert (variable.origin.column, variable.value.origin.column) == (3, 22)


def test_files_of_variables_and_mounted_ones() -> None:
    def file(path: str, text: str) -> TextFile:
        return TextFile(path, text, places_of_file(path, text))

    files = (
        file("vllm.env", '# for vLLM\nLMCACHE_CHUNK_SIZE=256\n\n  Q="kept"\r\nHF_TOKEN\n'),
        file("lmcache.yaml", "chunk_size: 256\n"),
        file("conf/vllm.yaml", "max-model-len: 8\n"),
    )
    process = _run(
        "--env-file vllm.env -v $PWD/lmcache.yaml:/etc/lmcache.yaml:ro "
        "--mount type=bind,source=./conf,target=/conf -e LMCACHE_CONFIG_FILE=/etc/lmcache.yaml "
        f"{IMAGE} m --config /conf/vllm.yaml",
        files=files,
    )
    assert _environment(process) == {
        "LMCACHE_CHUNK_SIZE": "256",
        "Q": '"kept"',
        "HF_TOKEN": None,
        "LMCACHE_CONFIG_FILE": "/etc/lmcache.yaml",
    }
    assert [str(v.origin) for v in process.environment[:2]] == ["vllm.env:2:1", "vllm.env:4:3"]
    assert {f.path: str(f.place(1, 1)) for f in process.files} == {
        "/etc/lmcache.yaml": "lmcache.yaml:1:1",
        "/conf/vllm.yaml": "conf/vllm.yaml:1:1",
    }


def test_what_cannot_be_read_is_unknown() -> None:
    process = _run(f"$MORE --env-file secret.env {IMAGE} m")
    assert [u.text for u in process.unknown] == ["--env-file secret.env", "$MORE"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"{IMAGE} vllm serve m", True),
        (f"{IMAGE} serve m", True),
        ("lmcache/vllm-openai:v0.3.9 bash -c 'vllm serve m'", True),
        (f"{IMAGE} m", False),
        (f"{IMAGE} --model m", False),
        (f"--entrypoint vllm {IMAGE} serve m", False),
        ("mine/vllm-openai:1 vllm serve m", False),
        ("ubuntu vllm serve m", False),
    ],
)
def test_a_command_behind_an_image_that_serves(line: str, *, found: bool) -> None:
    assert [f.id for f in _run(line).findings] == (["K8S020"] if found else [])


@given(
    st.lists(
        st.sampled_from(["-e", "-it", "--gpus", "--", "-", "--x", "$A", "a=b", "-v", ":", "--env="])
        | st.text(),
    ),
    st.booleans(),
)
def test_nothing_raises(texts: list[str], known: bool) -> None:
    words = tuple(
        Word(text, Origin("x", 1, 1), known, several=not known, places=places_of_file("x", text))
        for text in texts
    )
    docker_run(words, _shell())
