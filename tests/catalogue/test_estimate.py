"""The estimator against answers that a real vLLM gave, arithmetic, and configs that make no sense.

The recorded answers are those of vLLM 0.32.0 about the models in the catalogue, written by
`tools/estimator.py`; `tests/engine/test_estimator.py` asks the engine again for some of them.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl.catalogue.estimate import Question, estimate
from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.models import find_model

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "cases" / "estimator-answers.jsonl"
GIB = 1 << 30


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("estimator", ROOT / "tools" / "estimator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()
ROWS = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]


def test_every_answer_is_the_engines_or_unknown() -> None:
    outcomes = []
    for row in ROWS:
        facts = find_model(row["model"])
        assert facts is not None
        outcome, detail = TOOL.compare(row, facts.config)
        assert outcome != "different", f"{row['model']} {row['gpu']} {row['settings']}: {detail}"
        if "refused" not in row:
            outcomes.append(outcome)
    assert outcomes.count("equal") > 0.9 * len(outcomes)


def test_a_wrong_answer_would_be_seen() -> None:
    row = next(row for row in ROWS if row["model"] == "Qwen/Qwen3-8B" and "on" in row)
    facts = find_model("Qwen/Qwen3-8B")
    assert facts is not None
    assert TOOL.compare(row, facts.config)[0] == "equal"
    assert TOOL.compare(row, facts.config | {"num_key_value_heads": 4})[0] == "different"
    assert TOOL.compare(row, facts.config | {"num_hidden_layers": 35})[0] == "different"


def _estimate(model: str, **settings: Any) -> Any:
    facts = find_model(model)
    assert facts is not None
    given = {"config": facts.config, "vllm": "0.32.0", "gpu": find_gpu("H100-80GB")} | settings
    return estimate(Question(**given))


def test_full_attention_is_arithmetic() -> None:
    found = _estimate("meta-llama/Llama-3.1-8B", memory=40 * GIB, max_model_len=32768)
    # keys and values, 8 heads, 128 wide, 2 bytes, 16 tokens, in 32 layers
    block = 2 * 8 * 128 * 2 * 16 * 32
    assert found.hma_on == found.hma_off
    assert found.hma_on["num_blocks"] == 40 * GIB // block
    assert found.hma_on["bytes_per_request"] == 32768 // 16 * block
    assert found.hma_on["max_concurrency"] == 40 * GIB // block / (32768 // 16)


def test_windows_free_what_is_behind_them() -> None:
    found = _estimate(
        "openai/gpt-oss-20b", memory=40 * GIB, max_model_len=65536, max_num_batched_tokens=1024
    )
    # a window of 128, two batches in flight, one block more as a window may begin within a block
    window = -(-(128 - 1 + 2 * 1024) // 16) + 1
    # keys and values, 8 heads, 64 wide, 2 bytes, 16 tokens, in the 12 layers of a group
    block = 2 * 8 * 64 * 2 * 16 * 12
    assert [group["layers"] for group in found.hma_on["groups"]] == [12, 12]
    assert found.hma_on["bytes_per_request"] == (65536 // 16 + window) * block
    assert found.hma_off["bytes_per_request"] == 2 * 65536 // 16 * block


def test_without_memory_there_are_groups_and_no_blocks() -> None:
    found = _estimate("google/gemma-2-9b")
    assert len(found.hma_on["groups"]) == 2
    assert "num_blocks" not in found.hma_on


def test_one_request_that_does_not_fit() -> None:
    found = _estimate("meta-llama/Llama-3.1-8B", memory=1 * GIB)
    assert "num_blocks" not in found.hma_on
    assert found.hma_on["error"]["message"].startswith("To serve at least one request")
    assert "(131072)" in found.hma_on["error"]["message"]


def test_states_cannot_do_without_hma() -> None:
    found = _estimate("Qwen/Qwen3-Next-80B-A3B-Instruct", memory=40 * GIB)
    assert found.hma_on["error"] is None
    assert "unified type" in found.hma_off["error"]["message"]
    assert {group["block_size"] for group in found.hma_on["groups"]} == {544}


@pytest.mark.parametrize(("vllm", "block_size"), [("0.32.0", 544), ("0.33.0", 576)])
def test_a_release_has_its_own_block_size(vllm: str, block_size: int) -> None:
    found = _estimate("Qwen/Qwen3-Next-80B-A3B-Instruct", vllm=vllm)
    assert found.hma_on["block_size"] == block_size


LLAMA = "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        (LLAMA, {"vllm": "0.99.0"}, "not checked against vLLM 0.99.0"),
        (LLAMA, {"gpu": None}, "the GPU"),
        (LLAMA, {"gpu": find_gpu("T4")}, "not modelled"),
        (LLAMA, {"tensor_parallel_size": 3}, "3 ranks"),
        (LLAMA, {"pipeline_parallel_size": 64}, "64 pipeline stages"),
        (LLAMA, {"kv_cache_dtype": "nvfp4"}, "nvfp4"),
        (LLAMA, {"max_model_len": -1}, "fit to the memory"),
        (LLAMA, {"speculative": True}, "draft"),
        (LLAMA, {"attention_backend": "FLASHINFER"}, "attention backend"),
        (LLAMA, {"block_size": 24}, "24 tokens"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"vllm": None}, "releases differ"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"mamba_cache_mode": "all"}, "Mamba cache mode"),
        ("moonshotai/Kimi-K3", {}, "kernels"),
        ("google/gemma-3-12b-it", {"gpu": find_gpu("L4")}, "one image"),
    ],
)
def test_what_is_not_certain_is_unknown(model: str, settings: dict[str, Any], words: str) -> None:
    found = _estimate(model, **settings)
    assert found.unknown is not None
    assert words in found.unknown
    assert found.hma_on is None


def test_any_checked_release_gives_the_same_where_nothing_changed() -> None:
    found = _estimate(LLAMA, vllm=None, memory=40 * GIB)
    assert found.unknown is None
    assert found.hma_on == _estimate(LLAMA, memory=40 * GIB).hma_on


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["attention", "type", "factor", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
MODELS = (
    "google/gemma-4-26B-A4B",
    "google/gemma-3-4b-it",
    "deepseek-ai/DeepSeek-V3.2",
    "moonshotai/Kimi-K3",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Qwen/Qwen3.5-27B",
    "XiaomiMiMo/MiMo-V2-Flash",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "LGAI-EXAONE/EXAONE-4.0-32B",
    "microsoft/Phi-3.5-mini-instruct",
    "openai/gpt-oss-20b",
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_config_breaks_it(data: st.DataObject) -> None:
    facts = find_model(data.draw(st.sampled_from(MODELS)))
    assert facts is not None
    config = json.loads(json.dumps(facts.config))
    part = data.draw(st.sampled_from([config, config.get("text_config", config)]))
    for _ in range(data.draw(st.integers(1, 3))):
        part[data.draw(st.sampled_from(sorted(part)))] = data.draw(JSON)
    found = estimate(
        Question(config=config, vllm="0.32.0", gpu=find_gpu("H100-80GB"), memory=40 * GIB)
    )
    assert found.unknown or found.hma_on


def test_it_is_quick_to_import() -> None:
    script = (
        "import sys\nimport hmactl.catalogue.estimate\n"
        "heavy = {'pydantic', 'rich', 'yaml', 'torch', 'vllm'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
