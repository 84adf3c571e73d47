"""What the engine refuses, and an engine that crashes, hangs or is not there."""

import json
import subprocess
import sys
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


@pytest.mark.usefixtures("model")
def test_the_engine_refuses_a_length(hmactl: Run, tmp_path: Path) -> None:
    profile = "model: ./model\nvllm:\n  enforce-eager: true\n  max-model-len: 9999999\n"
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert (status, places) == (1, [("ENG001", 4, 3)])
    assert "max_model_len (9999999) is greater" in one["findings"][0]["message"]
    assert one["verdict"]["decision"] == "refuse"


def test_an_architecture_that_nobody_knows(hmactl: Run, tmp_path: Path, model: Path) -> None:
    (model / "config.json").write_text(
        json.dumps(CONFIG | {"architectures": ["NoSuchForCausalLM"]})
    )
    status, (places, one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [("ENG001", 1, 1)])
    assert "NoSuchForCausalLM" in one["findings"][0]["message"]
    assert len(one["findings"][0]["message"]) < 400


def test_a_directory_without_config(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    status, (places, _one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [("ENG002", 1, 1)])


def test_a_config_that_is_no_json(hmactl: Run, tmp_path: Path, model: Path) -> None:
    (model / "config.json").write_text("{" * 100_000)
    status, (places, _one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [("ENG002", 1, 1)])


@pytest.mark.parametrize(
    ("settings", "rule", "said"),
    [
        ({"num_hidden_layers": -4}, "ENG002", "num_hidden_layers = -4"),
        ({"num_hidden_layers": 10_000_000}, "ENG002", "num_hidden_layers = 10000000"),
        ({"hidden_size": 2**40}, "ENG002", f"hidden_size = {2**40}"),
        ({"hidden_size": "many"}, "ENG001", "hidden_size"),
        ({"num_key_value_heads": 2.5}, "ENG001", "num_key_value_heads"),
        ({"architectures": "LlamaForCausalLM"}, "ENG001", "architectures"),
        ({"text_config": {"text_config": {"text_config": {}}}}, "ENG001", "text_config"),
        (
            {"auto_map": {"AutoConfig": "evil.Evil"}, "model_type": "evil"},
            "ENG001",
            "custom code",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_config_that_makes_no_sense(
    hmactl: Run, tmp_path: Path, model: Path, settings: dict[str, Any], rule: str, said: str
) -> None:
    (model / "config.json").write_text(json.dumps(CONFIG | settings))
    (model / "evil.py").write_text("open('it-ran', 'w')\n")
    status, (places, one) = _findings(hmactl, tmp_path, "model: ./model\n")
    assert (status, places) == (1, [(rule, 1, 1)])
    assert said in one["findings"][0]["message"]
    assert not list(tmp_path.rglob("it-ran"))


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
    assert "google/gemma-3-4b-it" in one["findings"][0]["fix"]


@pytest.mark.usefixtures("model")
def test_a_gpu_that_does_not_exist(hmactl: Run, tmp_path: Path) -> None:
    profile = "model: ./model\ntarget:\n  gpu: H1000\n"
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert (status, places) == (1, [("ENG003", 3, 3)])
    assert "H100-80GB" in one["findings"][0]["message"]


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("settings", "found", "said"),
    [
        ("connector: MultiConnector\n", ("CON003", 2, 1), "no children"),
        (
            "vllm:\n  num-gpu-blocks-override: 100\n",
            ("MEM001", 1, 1),
            "`num-gpu-blocks-override` allows 100 blocks",
        ),
        ("vllm:\n  gpu-memory-utilization: 1.5\n", ("ENG001", 3, 3), "less than or equal to 1"),
        ("vllm:\n  config: ./no.yaml\n", ("CLI002", 3, 3), "No such file or directory"),
        ("vllm:\n  tensor-parallel-size: 3\n", ("ENG001", 1, 1), "must be divisible by tensor"),
        (
            'vllm:\n  kv-transfer-config: \'{"kv_connector": "NixlConnector"}\'\n',
            ("CLI002", 3, 3),
            "Please specify kv_role",
        ),
    ],
)
def test_each_mistake_has_one_clear_finding(
    hmactl: Run, tmp_path: Path, settings: str, found: tuple[str, int, int], said: str
) -> None:
    status, (places, one) = _findings(hmactl, tmp_path, f"model: ./model\n{settings}")
    assert (status, places) == (1, [found])
    assert said in one["findings"][0]["message"]


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
def test_a_connector_that_is_not_there(hmactl: Run, tmp_path: Path) -> None:
    profile = "model: ./model\nconnector:\n  name: Mine\n  module_path: not_installed\n"
    status, (places, one) = _findings(hmactl, tmp_path, profile)
    assert (status, places[0][0]) == (1, "ENG001")
    assert "not_installed" in one["findings"][0]["message"]


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
