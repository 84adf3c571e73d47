"""A server's arguments: what hmactl reads in them, and that vLLM's own parser reads the same."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.flags import vllm_flags
from hmactl.catalogue.gpus import find_gpu
from hmactl.deployment.command import flag_arguments
from hmactl.deployment.setting import Origin
from hmactl.engine.ask import virtual_gpu
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine
from hmactl.sources.process.arguments import Arguments, read_arguments
from hmactl.sources.process.word import Word

# The words behind `vllm serve`, and what they mean: positional words, then options.
COMMANDS: dict[str, tuple[list[str], list[tuple[str, Any]]]] = {
    "m --max-model-len 8192": (["m"], [("max-model-len", 8192)]),
    "m --max-model-len=8192": (["m"], [("max-model-len", 8192)]),
    "m --max_model_len 8192": (["m"], [("max-model-len", 8192)]),
    "m --max-model-len 32k": (["m"], [("max-model-len", "32k")]),
    "m -tp 4 -pp 2": (["m"], [("tensor-parallel-size", 4), ("pipeline-parallel-size", 2)]),
    "m --max-model 8192": (["m"], [("max-model-len", 8192)]),
    "m --max-model-len 1 --max-model-len 2": (
        ["m"],
        [("max-model-len", 1), ("max-model-len", 2)],
    ),
    "m --max-model-len -1": (["m"], [("max-model-len", -1)]),
    "--enforce-eager m": (["m"], [("enforce-eager", True)]),
    "m --no-enable-prefix-caching": (["m"], [("enable-prefix-caching", False)]),
    "m --gpu-memory-utilization 0.90": (["m"], [("gpu-memory-utilization", "0.90")]),
    "m --served-model-name a b --port 8000": (
        ["m"],
        [("served-model-name", ["a", "b"]), ("port", 8000)],
    ),
    """m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'""": (
        ["m"],
        [("kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}')],
    ),
    "m --kv-transfer-config.kv_connector X --kv-transfer-config.kv_role=kv_both --port 8000": (
        ["m"],
        [("port", 8000), ("kv-transfer-config", {"kv_connector": "X", "kv_role": "kv_both"})],
    ),
    "m --kv-transfer-config.kv_connector X --kv-transfer-config.kv_role kv_both "
    "--kv-transfer-config.kv_connector_extra_config.n 1k": (
        ["m"],
        [
            (
                "kv-transfer-config",
                {
                    "kv_connector": "X",
                    "kv_role": "kv_both",
                    "kv_connector_extra_config": {"n": 1000},
                },
            )
        ],
    ),
    "m -O3": (["m"], [("optimization-level", 3)]),
    "m -O 2": (["m"], [("optimization-level", 2)]),
    "m -O=1": (["m"], [("optimization-level", 1)]),
    "m --no-disable-hybrid-kv-cache-manager": (
        ["m"],
        [("disable-hybrid-kv-cache-manager", False)],
    ),
    "m --compilation-config.mode 3": (["m"], [("compilation-config", {"mode": 3})]),
}


def read(command: str) -> Arguments:
    words = shlex.split(command)
    placed = tuple(Word(text, Origin("x.sh", 1, 1 + i)) for i, text in enumerate(words))
    return read_arguments(placed, vllm_flags("0.32.0"))


@pytest.mark.parametrize("command", COMMANDS)
def test_meaning(command: str) -> None:
    positional, settings = COMMANDS[command]
    arguments = read(command)
    assert [word.text for word in arguments.positional] == positional
    assert [(s.name, s.value) for s in arguments.settings] == settings
    assert [f.id for f in arguments.findings] == (["CLI005"] if "max-model 8" in command else [])
    assert not arguments.unknown


@pytest.mark.parametrize(
    ("command", "found", "column"),
    [
        ("m --enforce-eager true", "CLI003", 3),
        ("m --enable-prefix-caching=false", "CLI003", 2),
        ("m --max-model-len --enforce-eager", "CLI004", 2),
        ("m --max-model-len", "CLI004", 2),
    ],
)
def test_what_the_parser_would_refuse(command: str, found: str, column: int) -> None:
    (finding,) = read(command).findings
    assert (finding.id, finding.origin.column) == (found, column)


def test_what_cannot_be_known_is_in_no_setting() -> None:
    origin = Origin("x.sh", 1, 1)
    length = Word("$LEN", origin, known=False, needs=("LEN",))
    more = Word("$MORE", origin, known=False, needs=("MORE",), several=True)
    words = (Word("m", origin), Word("--max-model-len", origin), length, more)
    arguments = read_arguments(words, vllm_flags(None))
    assert arguments.settings == ()
    assert [(u.name, u.needs) for u in arguments.unknown] == [
        ("max-model-len", ("LEN",)),
        (None, ("MORE",)),
    ]


_H100 = find_gpu("H100-80GB")
_GPU = json.dumps(None if _H100 is None else virtual_gpu(_H100, 8))
_PARSE = """
import importlib, json, re, sys
sys.path.insert(0, sys.argv[1])
gpu = importlib.import_module("dryboot.virtual_gpu")
gpu.install(gpu.Gpu(**json.loads(sys.argv[3])))
parser, _ = importlib.import_module("dryboot.arguments").serve_parser()
answers = []
for command in json.load(sys.stdin):
    try:
        parsed = repr(sorted(vars(parser.parse_args(["serve", *command])).items()))
        answers.append(re.sub(r"engine_id='[^']*'", "", parsed))  # made up anew each time
    except Exception:
        answers.append(None)
open(sys.argv[2], "w").write(json.dumps(answers))
"""


@pytest.mark.engine
def test_vllms_own_parser_reads_the_same(engine: Engine, tmp_path: Path) -> None:
    """Written anew from what was read, a command parses to the same, and refused ones do not."""
    refused = ["m --enforce-eager true", "m --max-model-len", "m --enable-prefix-caching=false"]
    rewritten = []
    for command in COMMANDS:
        arguments = read(command)
        flags = [word for s in arguments.settings for word in flag_arguments(s.name, s.value)]
        rewritten.append([*(word.text for word in arguments.positional), *flags])
    asked = [*map(shlex.split, COMMANDS), *rewritten, *map(shlex.split, refused)]
    out = tmp_path / "parsed.json"
    package = Path(__file__).parents[3] / "hmactl" / "engine"
    done = subprocess.run(
        [str(engine.python), "-c", _PARSE, str(package), str(out), _GPU],
        input=json.dumps(asked),
        env={**os.environ, **bridge_environment(engine, os.environ)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(out.read_text("utf-8"))
    count = len(COMMANDS)
    for command, written, anew in zip(COMMANDS, answers, answers[count:], strict=False):
        assert written is not None, command
        assert written == anew, command
    assert answers[2 * count :] == [None] * len(refused)
