"""What the engine refuses, and an engine that crashes, hangs or is not there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, processes_with

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "vocab_size": 320,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(CONFIG))
    return directory


def _findings(hmactl: Run, tmp_path: Path, profile: str, **env: str) -> tuple[int, Any]:
    (tmp_path / "p.yaml").write_text(profile)
    done = hmactl("check", "-q", "--format", "json", "p.yaml", **env)
    one = json.loads(done.stdout)["deployments"][0]
    places = [(f["id"], f["line"], f["column"]) for f in one["findings"]]
    return done.returncode, (places, one)


def test_everything_wrong_is_reported_at_once(hmactl: Run, tmp_path: Path) -> None:
    profile = """\
modell: typo
model: ./model
vllm:
  max-model-length: 8192
  max-num-seqs: lots
  disable-log-stats: false
connector: LMCacheConectorV1
lmcache:
  max_local_cpu_sise: 3
  chunk_size: 5k
"""
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert status == 1
    assert places == [
        ("PRO004", 1, 1),
        ("CLI001", 4, 3),
        ("CLI002", 5, 3),
        ("CLI001", 6, 3),
        ("CON001", 7, 1),
        ("LMC001", 9, 3),
        ("LMC002", 10, 3),
    ]
    text = {f["line"]: f["message"] + f["fix"] for f in one["findings"]}
    assert "`model`" in text[1]
    assert "`max-model-len`" in text[4]
    assert "invalid int value: 'lots'" in text[5]
    assert "LMCacheConnectorV1" in text[7]
    assert "`max_local_cpu_size`" in text[9]
    assert one["verdict"]["decision"] == "unknown"


def test_a_directory_without_config(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    status, (places, _one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [("ENG002", 1, 1)])


def test_a_config_that_is_no_json(hmactl: Run, tmp_path: Path, model: Path) -> None:
    (model / "config.json").write_text("{" * 100_000)
    status, (places, _one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [("ENG002", 1, 1)])


# What a config.json claims, the rule that speaks, and a word of what it says.
NONSENSE: dict[str, tuple[dict[str, Any], str, str]] = {
    "negative": ({"num_hidden_layers": -4}, "ENG002", "num_hidden_layers = -4"),
    "endless": ({"num_hidden_layers": 10_000_000}, "ENG002", "num_hidden_layers = 10000000"),
    "huge": ({"hidden_size": 2**40}, "ENG002", f"hidden_size = {2**40}"),
    "words": ({"hidden_size": "many"}, "ENG001", "hidden_size"),
    "fraction": ({"num_key_value_heads": 2.5}, "ENG001", "num_key_value_heads"),
    "no-list": ({"architectures": "LlamaForCausalLM"}, "ENG001", "architectures"),
    "nested": ({"text_config": {"text_config": {"text_config": {}}}}, "ENG001", "text_config"),
    "unknown": ({"architectures": ["NoSuchForCausalLM"]}, "ENG001", "NoSuchForCausalLM"),
    "own-code": (
        {"auto_map": {"AutoConfig": "evil.Evil"}, "model_type": "evil"},
        "ENG001",
        "custom code",
    ),
}
# What is written besides the model, the rule with line and column, and a word of what it says.
MISTAKES: dict[str, tuple[str, tuple[str, int, int], str]] = {
    "no-children": ("connector: MultiConnector\n", ("CON003", 3, 1), "no children"),
    "few-blocks": (
        "vllm:\n  num-gpu-blocks-override: 100\n",
        ("MEM001", 2, 1),
        "`num-gpu-blocks-override` allows 100 blocks",
    ),
    "utilisation": (
        "vllm:\n  gpu-memory-utilization: 1.5\n",
        ("ENG001", 4, 3),
        "less than or equal to 1",
    ),
    "length": ("vllm:\n  max-model-len: 9999999\n", ("ENG001", 4, 3), "(9999999) is greater"),
    "no-file": ("vllm:\n  config: ./no.yaml\n", ("CLI002", 4, 3), "No such file or directory"),
    "heads": ("vllm:\n  tensor-parallel-size: 3\n", ("ENG001", 2, 1), "divisible by tensor"),
    "no-role": (
        'vllm:\n  kv-transfer-config: \'{"kv_connector": "NixlConnector"}\'\n',
        ("CLI002", 4, 3),
        "Please specify kv_role",
    ),
    "not-installed": (
        "connector:\n  name: Mine\n  module_path: not_installed\n",
        ("ENG001", 4, 3),
        "not_installed",
    ),
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """All of both tables in one call, by name; lines count within each document."""
    directory = tmp_path_factory.mktemp("mistakes")
    for name, (settings, _rule, _said) in {**NONSENSE, "model": ({}, "", "")}.items():
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(CONFIG | settings))
        (directory / name / "evil.py").write_text("open('it-ran', 'w')\n")
    documents = [f"name: {name}\nmodel: ./{name}\n" for name in NONSENSE]
    documents += [f"name: {name}\nmodel: ./model\n{text}" for name, (text, *_) in MISTAKES.items()]
    (directory / "p.yaml").write_text("---\n".join(documents))
    done = subprocess.run(
        [sys.executable, "-m", "hmactl", "check", "-q", "--no-cache", "--format", "json", "p.yaml"],
        capture_output=True,
        text=True,
        cwd=directory,
        check=False,
    )
    assert "Traceback" not in done.stderr
    found = {}
    start = 0
    for document, one in zip(documents, json.loads(done.stdout)["deployments"], strict=True):
        for finding in one["findings"]:
            finding["line"] -= start
        start += document.count("\n") + 1
        found[one["name"]] = one
    yield found
    assert not list(directory.rglob("it-ran"))


@pytest.mark.parametrize("name", NONSENSE)
def test_a_config_that_makes_no_sense(reported: dict[str, Any], name: str) -> None:
    _settings, rule, said = NONSENSE[name]
    (finding,) = reported[name]["findings"]
    assert (finding["id"], finding["line"], finding["column"]) == (rule, 2, 1)
    assert said in finding["message"]
    assert len(finding["message"]) < 400
    assert reported[name]["verdict"]["decision"] in {"refuse", "unknown"}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_has_one_clear_finding(reported: dict[str, Any], name: str) -> None:
    _text, place, said = MISTAKES[name]
    (finding,) = reported[name]["findings"]
    assert (finding["id"], finding["line"], finding["column"]) == place
    assert said in finding["message"]


def test_code_that_a_model_brings_is_never_run(hmactl: Run, tmp_path: Path, model: Path) -> None:
    own = {"auto_map": {"AutoConfig": "evil.Evil"}, "model_type": "evil"}
    (model / "config.json").write_text(json.dumps(CONFIG | own))
    (model / "evil.py").write_text("open('it-ran', 'w')\n")
    (tmp_path / "p.yaml").write_text("model: ./model\nvllm: {trust-remote-code: true}\n")
    done = hmactl("check", "-q", "p.yaml")
    # A real start could run that code and come up: no finding, and nothing known.
    assert done.returncode == 2
    assert "never runs" in done.stdout
    assert not list(tmp_path.rglob("it-ran"))


def test_a_model_that_nobody_has(hmactl: Run, tmp_path: Path) -> None:
    status, (places, one) = _findings(hmactl, tmp_path, "model: nobody/has-this\n")
    assert (status, places) == (1, [("ENG002", 1, 1)])
    assert "a local directory with the model's config.json" in one["findings"][0]["fix"]


def test_a_model_whose_name_is_nearly_right(hmactl: Run, tmp_path: Path) -> None:
    _status, (_places, one) = _findings(hmactl, tmp_path, "model: google/gemma-3-4b-itt\n")
    assert "google/gemma-3-4b-it" in one["findings"][0]["fix"]


@pytest.mark.usefixtures("model")
def test_chosen_gpus_of_a_machine_do_not_matter(hmactl: Run, tmp_path: Path) -> None:
    """Triton looks for a driver where CUDA_VISIBLE_DEVICES names devices."""
    profile = 'model: ./model\ntarget: {gpu: H100-80GB}\nenv: {CUDA_VISIBLE_DEVICES: "0"}\n'
    status, (_places, one) = _findings(hmactl, tmp_path, profile)
    assert status == 0
    assert one["plan"]["hma_on"]["num_blocks"] > 0


@pytest.mark.usefixtures("model")
def test_a_gpu_that_does_not_exist(hmactl: Run, tmp_path: Path) -> None:
    profile = "model: ./model\ntarget:\n  gpu: H1000\n"
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert (status, places) == (1, [("ENG003", 3, 3)])
    assert "H100-80GB" in one["findings"][0]["message"]


@pytest.mark.usefixtures("model")
def test_a_draft_without_a_model_adds_nothing(hmactl: Run, tmp_path: Path) -> None:
    profile = (
        "model: ./model\nvllm:\n  speculative-config:\n    method: ngram\n"
        "    num_speculative_tokens: 3\n    prompt_lookup_max: 4\n"
    )
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert (status, places) == (0, [])
    assert [layer["count"] for layer in one["plan"]["layers"]] == [2]


def _external(tmp_path: Path, name: str, body: str) -> str:
    (tmp_path / f"{name}.py").write_text(body)
    return f"model: ./model\nconnector:\n  name: Mine\n  module_path: {name}\n"


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("body", "option", "message"),
    [
        ("import os\nos.abort()\n", "--timeout=100", "was ended by SIGABRT"),
        ("import time\ntime.sleep(600)\n", "--timeout=20", "gave no answer within 20 s"),
        (
            "import time\nhog = bytearray(2 << 30)\n"
            "for i in range(0, len(hog), 4096): hog[i] = 1\ntime.sleep(600)\n",
            "--memory-limit=2GiB",
            "more than its limit of 2.0 GiB",
        ),
        ("raise SystemExit(7)\n", "--timeout=100", "ended with exit status"),
    ],
    ids=["crash", "hang", "memory", "exit"],
)
def test_an_engine_that_gives_no_answer(
    hmactl: Run, tmp_path: Path, body: str, option: str, message: str
) -> None:
    (tmp_path / "p.yaml").write_text(_external(tmp_path, "misbehaving", body))
    done = hmactl("check", "-q", option, "p.yaml", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert message in done.stdout
    assert processes_with(str(tmp_path)) == []


@pytest.mark.usefixtures("model")
def test_an_interpreter_that_is_missing(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("model: ./model\n")
    done = hmactl("check", "--python", "/no/such/python", "p.yaml")
    assert done.returncode == 2
    assert "/no/such/python" in done.stderr


@pytest.mark.usefixtures("model")
def test_an_interpreter_without_vllm(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("model: ./model\nvlm: {}\n")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    done = hmactl("check", "--python", tmp_path / "bare" / "bin" / "python", "p.yaml")
    assert done.returncode == 2
    assert "pip install 'hmactl[engine]'" in done.stderr
    assert "p.yaml:2:1: error[PRO004]" in done.stdout
