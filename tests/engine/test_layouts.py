"""Parallel layouts, as the engine itself shards them. Figures are arithmetic, shown beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

GIB = 2**30
PROFILE = """\
name: tensor
model: openai/gpt-oss-20b
vllm: {tensor-parallel-size: 2}
---
name: pipeline
model: openai/gpt-oss-20b
vllm: {pipeline-parallel-size: 2, tensor-parallel-size: 2}
---
name: uneven
model: google/gemma-3-4b-it
vllm: {pipeline-parallel-size: 3}
env: {VLLM_PP_LAYER_PARTITION: "10,12,12"}
---
name: plain
model: deepseek-ai/DeepSeek-V3
vllm: {tensor-parallel-size: 8}
---
name: experts
model: deepseek-ai/DeepSeek-V3
vllm: {tensor-parallel-size: 8, enable-expert-parallel: true}
---
name: data-and-experts
model: deepseek-ai/DeepSeek-V3
vllm: {data-parallel-size: 8, enable-expert-parallel: true}
---
name: context
model: deepseek-ai/DeepSeek-V3
vllm: {tensor-parallel-size: 8, decode-context-parallel-size: 8}
---
name: fp8-cache
model: openai/gpt-oss-20b
vllm: {kv-cache-dtype: fp8}
---
name: too-many-ranks
model: google/gemma-3-4b-it
vllm: {tensor-parallel-size: 16}
"""


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One call for all of them."""
    import subprocess
    import sys

    path = tmp_path_factory.mktemp("layouts") / "p.yaml"
    path.write_text(PROFILE)
    options = ("--format", "json", "--gpu", "H200", "--kv-cache-memory", "20GiB", "--no-cache")
    done = subprocess.run(
        [sys.executable, "-m", "hmactl", "check", "-q", "--offline", *options, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return {one["name"]: one for one in json.loads(done.stdout)["deployments"]}


def _stages(one: dict[str, Any]) -> list[list[tuple[int, str]]]:
    return [[(kind["count"], kind["spec"]) for kind in s] for s in one["plan"]["layers_per_stage"]]


def test_tensor_parallel_splits_heads(plans: dict[str, Any]) -> None:
    plan = plans["tensor"]["plan"]
    # keys and values, 4 of 8 heads, 64 wide, 2 bytes, 16 tokens
    page = 2 * 4 * 64 * 2 * 16
    assert {kind["page_size_bytes"] for kind in plan["layers"]} == {page}
    assert plan["hma_off"]["num_blocks"] == 20 * GIB // (24 * page)


def test_pipeline_parallel_splits_layers(plans: dict[str, Any]) -> None:
    one = plans["pipeline"]
    assert _stages(one) == [[(6, "SlidingWindowSpec"), (6, "FullAttentionSpec")]] * 2
    assert len(one["plan"]["weights_bytes_per_rank"]) == 2
    assert one["plan"]["hma_off"]["num_blocks"] == 20 * GIB // (12 * 2 * 4 * 64 * 2 * 16)


def test_uneven_stages_are_as_the_environment_says(plans: dict[str, Any]) -> None:
    # Every sixth layer is full attention: the 6th, 12th, 18th, 24th, 30th of 34.
    full = [1, 2, 2]
    sizes = [10, 12, 12]
    expected = [
        [(n - f, "SlidingWindowSpec"), (f, "FullAttentionSpec")]
        for n, f in zip(sizes, full, strict=True)
    ]
    assert _stages(plans["uneven"]) == expected
    # The largest stage decides how many blocks all have.
    page = 2 * 4 * 256 * 2 * 16
    assert plans["uneven"]["plan"]["hma_off"]["num_blocks"] == 20 * GIB // (12 * page)


def test_expert_parallel_moves_experts_and_keeps_their_share(plans: dict[str, Any]) -> None:
    plain = plans["plain"]["plan"]["weights_bytes_per_rank"][0]
    experts = plans["experts"]["plan"]["weights_bytes_per_rank"][0]
    assert experts == pytest.approx(plain, rel=0.001)
    # With data parallel attention every rank has all of the rest, and an eighth of the experts.
    data = plans["data-and-experts"]["plan"]["weights_bytes_per_rank"][0]
    assert plain < data < 1.3 * plain


def test_context_parallel_spreads_tokens(plans: dict[str, Any]) -> None:
    plain, context = (plans[n]["plan"]["hma_on"]["tokens"] for n in ("plain", "context"))
    assert context == 8 * plain


def test_an_fp8_cache_takes_half(plans: dict[str, Any]) -> None:
    assert {k["page_size_bytes"] for k in plans["fp8-cache"]["plan"]["layers"]} == {
        2 * 8 * 64 * 1 * 16
    }


def test_heads_that_do_not_divide_are_refused_in_the_engines_words(
    plans: dict[str, Any],
) -> None:
    one = plans["too-many-ranks"]
    assert one["verdict"]["decision"] == "refuse"
    assert "must be divisible by tensor parallel size (16)" in one["verdict"]["reason"]


def test_building_without_weights_is_not_the_engines_refusal(hmactl: Run, tmp_path: Path) -> None:
    """An operation that needs values is the dry boot's limit: unknown, and no finding."""
    model = tmp_path / "model"
    model.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": 320,
    }
    (model / "config.json").write_text(json.dumps(config))
    # A plugin of vLLM's that makes every model need a value while it is built.
    package = tmp_path / "site"
    (package / "needy-1.dist-info").mkdir(parents=True)
    (package / "needy-1.dist-info" / "METADATA").write_text("Name: needy\nVersion: 1\n")
    (package / "needy-1.dist-info" / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nneedy = needy:register\n"
    )
    (package / "needy.py").write_text(
        "import functools\nimport torch\nfrom vllm.model_executor.models import llama\n"
        "def register():\n"
        "    made = llama.LlamaForCausalLM.__init__\n"
        "    @functools.wraps(made)\n"
        "    def init(self, *a, **k):\n"
        "        made(self, *a, **k)\n"
        "        torch.empty(4, device='meta').masked_select(torch.empty(4, device='meta') > 0)\n"
        "    llama.LlamaForCausalLM.__init__ = init\n"
    )
    (tmp_path / "p.yaml").write_text("model: ./model\n")
    done = hmactl("check", "-q", "p.yaml", PYTHONPATH=str(package))
    assert done.returncode == 2, done.stdout
    assert "the dry boot cannot go on" in done.stdout
    assert "ENG001" not in done.stdout
