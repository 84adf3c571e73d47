"""Whose layers join the KV cache when a draft speculates, and where a draft's config comes from."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("engine")]

_LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "dtype": "bfloat16",
    "tie_word_embeddings": False,
}
_EAGLE3 = {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}
# A model that was published with the model that it speculates for.
_SPECULATOR: dict[str, Any] = {
    "architectures": ["Eagle3Speculator"],
    "speculators_model_type": "eagle3",
    "speculators_version": "0.1",
    "draft_vocab_size": 512,
    "norm_before_residual": False,
    "transformer_layer_config": _LLAMA | {"num_hidden_layers": 1},
    "speculators_config": {
        "algorithm": "eagle3",
        "default_proposal_method": "greedy",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
        "verifier": {"architectures": ["LlamaForCausalLM"], "name_or_path": "some/target"},
    },
}
# In the hub's cache, by name.
_HUB: dict[str, dict[str, Any]] = {
    "some/target": _LLAMA | {"num_hidden_layers": 4},
    "some/EAGLE3-head": _LLAMA | _EAGLE3,
    "some/small": _LLAMA | {"num_hidden_layers": 2, "num_key_value_heads": 1},
    "some/speculator": _SPECULATOR,
}
_DRAFT = {"num_speculative_tokens": 2}
_SMALL = {"speculative-config": {"model": "some/small"} | _DRAFT}
_DEEPSEEK = "deepseek-ai/DeepSeek-V3"
_QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
DOCUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("some/target", {}),
    "eagle3": ("some/target", {"speculative-config": {"model": "some/EAGLE3-head"} | _DRAFT}),
    "stages": (
        "some/target",
        {
            "speculative-config": {"model": "some/EAGLE3-head"} | _DRAFT,
            "pipeline-parallel-size": 2,
        },
    ),
    "draft": ("some/target", _SMALL),
    "json": ("some/target", {"speculative-config": json.dumps(_SMALL["speculative-config"])}),
    "dotted": (
        "some/target",
        {
            "speculative-config.model": "some/small",
            "speculative-config.num_speculative_tokens": 2,
        },
    ),
    "fp8": (
        "some/target",
        {"speculative-config": {"model": "some/small", "kv_cache_dtype": "fp8"} | _DRAFT},
    ),
    "local": ("some/target", {"speculative-config": {"model": "./small"} | _DRAFT}),
    "missing": ("some/target", {"speculative-config": {"model": "nobody/has-this"} | _DRAFT}),
    "nonsense": ("some/target", {"speculative-config": {"model": "./endless"} | _DRAFT}),
    "speculator": ("some/speculator", {}),
    "ngram": (
        "some/target",
        {"speculative-config": {"method": "ngram", "prompt_lookup_max": 4} | _DRAFT},
    ),
    "deepseek": (_DEEPSEEK, {"tensor-parallel-size": 8}),
    "deepseek-mtp": (
        _DEEPSEEK,
        {
            "tensor-parallel-size": 8,
            "speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
        },
    ),
    "named-mtp": (
        _DEEPSEEK,
        {
            "tensor-parallel-size": 8,
            "speculative-config": {
                "method": "mtp",
                "model": _DEEPSEEK,
                "num_speculative_tokens": 1,
            },
        },
    ),
    "qwen-mtp": (
        _QWEN,
        {"tensor-parallel-size": 4, "speculative-config": {"method": "qwen3_next_mtp"} | _DRAFT},
    ),
}
_answers: dict[str, dict[str, Any]] = {}


@pytest.fixture
def answers(hmactl: Run, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """All of them, asked once in one call."""
    if not _answers:
        hub = tmp_path / "hub"
        for name, config in _HUB.items():
            repository = hub / f"models--{name.replace('/', '--')}"
            _write(repository / "snapshots" / "0123", config)
            (repository / "refs").mkdir()
            (repository / "refs" / "main").write_text("0123")
        _write(tmp_path / "small", _HUB["some/small"])
        _write(tmp_path / "endless", _LLAMA | {"num_hidden_layers": 10_000_000})
        documents = [
            {"name": name, "model": model, "vllm": flags}
            for name, (model, flags) in DOCUMENTS.items()
        ]
        (tmp_path / "p.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
        options = ("--offline", "--gpu", "H200", "--kv-cache-memory", "4GiB")
        done = hmactl("check", "-q", "--format", "json", *options, "p.yaml", HF_HUB_CACHE=str(hub))
        deployments = json.loads(done.stdout)["deployments"]
        _answers.update({one["name"]: one for one in deployments})
    return _answers


def _write(directory: Path, config: dict[str, Any]) -> None:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config))


def _layers(one: dict[str, Any]) -> list[tuple[int, str, int]]:
    assert one["plan"] is not None, one["findings"]
    return [(k["count"], k["spec"], k["page_size_bytes"]) for k in one["plan"]["layers"]]


# keys and values, heads of 64, 2 bytes, 16 tokens
_PAGE = 2 * 2 * 64 * 2 * 16


def test_an_eagle_head_adds_its_layer(answers: dict[str, Any]) -> None:
    assert _layers(answers["plain"]) == [(4, "FullAttentionSpec", _PAGE)]
    assert _layers(answers["eagle3"]) == [(5, "FullAttentionSpec", _PAGE)]
    assert answers["eagle3"]["plan"]["hma_on"]["num_blocks"] == 4 * 2**30 // (5 * _PAGE)


def test_a_draft_is_with_the_last_stage_alone(answers: dict[str, Any]) -> None:
    stages = answers["stages"]["plan"]["layers_per_stage"]
    assert [[kind["count"] for kind in stage] for stage in stages] == [[2], [3]]


@pytest.mark.parametrize("name", ["draft", "json", "dotted", "local"])
def test_a_draft_model_is_a_model_beside_the_target(answers: dict[str, Any], name: str) -> None:
    # One head instead of two: half a page.
    expected = [(4, "FullAttentionSpec", _PAGE), (2, "FullAttentionSpec", _PAGE // 2)]
    assert _layers(answers[name]) == expected
    # Embedding and output, two layers of attention and MLP, norms; twice, of 2 bytes.
    layer = 256 * 64 * (4 + 1 + 1) + 4 * 64 * 256 + 3 * 256 * 512 + 2 * 256
    parameters = 2 * 512 * 256 + 2 * layer + 256
    plain = answers["plain"]["plan"]["weights_bytes_per_rank"][0]
    more = answers[name]["plan"]["weights_bytes_per_rank"][0] - plain
    # vLLM's own buffers beside them: rotary positions, and four scales for each layer.
    assert more - 2 * parameters in {2 * 4 * 4, 8192 * 64 * 2 + 2 * 4 * 4}


def test_a_draft_may_have_a_cache_dtype_of_its_own(answers: dict[str, Any]) -> None:
    expected = [(4, "FullAttentionSpec", _PAGE), (2, "FullAttentionSpec", _PAGE // 4)]
    assert _layers(answers["fp8"]) == expected


def test_a_draft_whose_config_cannot_be_had(answers: dict[str, Any]) -> None:
    one = answers["missing"]
    (finding,) = one["findings"]
    assert finding["id"] == "ENG002"
    assert "nobody/has-this" in finding["message"]
    assert "besides its own model" in finding["message"]
    assert finding["column"] > 1
    assert one["verdict"]["decision"] == "unknown"


def test_a_draft_that_makes_no_sense(answers: dict[str, Any]) -> None:
    (finding,) = answers["nonsense"]["findings"]
    assert finding["id"] == "ENG002"
    assert "num_hidden_layers = 10000000" in finding["message"]


def test_a_speculator_brings_the_model_that_it_is_for(answers: dict[str, Any]) -> None:
    assert _layers(answers["speculator"]) == [(5, "FullAttentionSpec", _PAGE)]


def test_an_ngram_draft_adds_nothing(answers: dict[str, Any]) -> None:
    assert answers["ngram"]["plan"] == answers["plain"]["plan"]


@pytest.mark.parametrize("name", ["deepseek-mtp", "named-mtp"])
def test_the_mtp_layer_of_deepseek(answers: dict[str, Any], name: str) -> None:
    # A latent of 512 and 64 rotary, 2 bytes, 16 tokens; one more layer than the 61.
    page = (512 + 64) * 2 * 16
    assert _layers(answers["deepseek"]) == [(61, "MLAAttentionSpec", page)]
    assert _layers(answers[name]) == [(62, "MLAAttentionSpec", page)]
    weights = [answers[n]["plan"]["weights_bytes_per_rank"][0] for n in ("deepseek", name)]
    # An eighth of 256 experts of fp8 and more; embedding and output head are the target's.
    experts = 256 * 3 * 7168 * 2048 // 8
    attention_and_rest = 0.1 * experts
    projection = 2 * 7168 * 7168 * 2
    more = weights[1] - weights[0]
    assert experts + projection < more < experts + projection + attention_and_rest


def test_the_mtp_layer_of_qwen3_next(answers: dict[str, Any]) -> None:
    kinds = {k["spec"]: k for k in answers["qwen-mtp"]["plan"]["layers"]}
    assert (kinds["MambaSpec"]["count"], kinds["FullAttentionSpec"]["count"]) == (36, 12 + 1)
    # Two more states of the convolution, one for each speculative token: 3 + 2.
    assert kinds["MambaSpec"]["shapes"][0][0] == 3 + 2
