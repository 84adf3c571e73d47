"""The model catalogue: found by hub id, sourced, and read one file at a time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hmactl
from hmactl.catalogue.models import find_model, known_models, similar_models

FOLDER = Path(hmactl.__file__).parent / "catalogue" / "data" / "models"
FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "index.json")


def test_there_are_many() -> None:
    assert len(known_models()) >= 150


@pytest.mark.parametrize(
    ("model", "layers", "kv_heads"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 32, 8),
        ("Meta-Llama/LLAMA-3.1-8b-instruct", 32, 8),
        ("Qwen/Qwen3-32B", 64, 8),
        ("openai/gpt-oss-120b", 36, 8),
    ],
)
def test_a_model_is_found_in_any_case(model: str, layers: int, kv_heads: int) -> None:
    facts = find_model(model)
    assert facts is not None
    assert facts.model.lower() == model.lower()
    assert facts.config["num_hidden_layers"] == layers
    assert facts.config["num_key_value_heads"] == kv_heads


@pytest.mark.parametrize("model", ["", "nobody/nothing", "llama-3.1-8b", "../index"])
def test_another_is_not(model: str) -> None:
    assert find_model(model) is None


def test_similar_names_are_offered() -> None:
    assert "meta-llama/Llama-3.1-8B-Instruct" in similar_models("meta-llama/Llama-3.1-8b-Instuct")
    assert similar_models("zzz/qqqqqqqqqqqq") == ()


def test_what_is_no_fact_is_named() -> None:
    facts = find_model("Qwen/Qwen3-VL-235B-A22B-Instruct")
    assert facts is not None
    assert facts.filled == ("text_config.norm_topk_prob",)
    assert facts.config["text_config"]["norm_topk_prob"] is True
    assert facts.config["text_config"]["num_hidden_layers"] == 94


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_says_where_and_when(path: Path) -> None:
    entry = json.loads(path.read_text("utf-8"))
    assert len(entry["source"]) > 20
    assert entry["as_of"] >= "2026-11-30"
    assert entry["config"]["architectures"]
    assert not any(key.startswith("_name") for key in entry["config"])


def test_the_index_has_every_file_and_no_other() -> None:
    index = json.loads((FOLDER / "index.json").read_text("utf-8"))
    of_files = {
        model.lower(): [model, path.name]
        for path in FILES
        for model in json.loads(path.read_text("utf-8"))["models"]
    }
    assert index == of_files


def test_a_look_up_reads_two_files() -> None:
    script = (
        "import sys\nopened = []\n"
        "sys.addaudithook(lambda e, a: opened.append(str(a[0])) if e == 'open' else None)\n"
        "from hmactl.catalogue.models import find_model\n"
        "assert find_model('Qwen/Qwen3-8B')\n"
        "read = [name for name in opened if 'data/models' in name]\n"
        "sys.exit(0 if len(read) == 2 else str(read))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
