"""Drafts, replicas and too little memory on other releases, which HMACTL_TEST_PYTHONS names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import reports

pytestmark = pytest.mark.engine

PYTHONS = [python for python in os.environ.get("HMACTL_TEST_PYTHONS", "").split(":") if python]
if not PYTHONS:
    pytest.skip("HMACTL_TEST_PYTHONS names no interpreters", allow_module_level=True)

_LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "head_dim": 64,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
_EAGLE3 = {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}
MODELS: dict[str, dict[str, Any]] = {
    "target": _LLAMA,
    "eagle": _LLAMA | {"num_hidden_layers": 1},
    "eagle3": _LLAMA | _EAGLE3,
    "small": _LLAMA | {"num_hidden_layers": 2, "num_key_value_heads": 1},
    "gemma": _LLAMA
    | {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "query_pre_attn_scalar": 64,
        "sliding_window": 512,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "max_position_embeddings": 65536,
        "tie_word_embeddings": True,
    },
}
# Keys and values, 2 heads of 64, 2 bytes: of one layer.
_TOKEN = 2 * 2 * 64 * 2
_MEMORY = 1 << 30
_DEEPSEEK = "deepseek-ai/DeepSeek-V3"


def _draft(**draft: Any) -> dict[str, Any]:
    return {"speculative-config": {"num_speculative_tokens": 2} | draft}


DOCUMENTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "plain": ("./target", {}, 1),
    "replicas": ("./target", {"data-parallel-size": 2}, 2),
    "replicas-tp": ("./target", {"data-parallel-size": 2, "tensor-parallel-size": 2}, 4),
    "replicas-ep": (
        _DEEPSEEK,
        {"data-parallel-size": 8, "enable-expert-parallel": True, "max-model-len": 8192},
        8,
    ),
    "eagle": ("./target", _draft(method="eagle", model="./eagle"), 1),
    "eagle3": ("./target", _draft(method="eagle3", model="./eagle3"), 1),
    "draft": ("./target", _draft(model="./small"), 1),
    "ngram": ("./target", _draft(method="ngram", prompt_lookup_max=4), 1),
    "mtp": (
        _DEEPSEEK,
        {"tensor-parallel-size": 8, "max-model-len": 8192} | _draft(method="deepseek_mtp"),
        8,
    ),
}


@pytest.fixture(scope="module", params=PYTHONS)
def reported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """All of them in one call."""
    directory = tmp_path_factory.mktemp("older")
    for name, config in MODELS.items():
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config))
    profiles = [
        {
            "name": name,
            "model": model,
            "vllm": _in(directory, flags),
            "target": {"gpu": "H200", "gpus": gpus, "kv_cache_memory": _MEMORY},
        }
        for name, (model, flags, gpus) in DOCUMENTS.items()
    ]
    too_little = {"gpu": "H200", "kv_cache_memory": 100 << 20}
    profiles.append(
        {"name": "too-little", "model": "./gemma", "hma": "disable", "target": too_little}
    )
    text = "---\n".join(map(yaml.safe_dump, profiles))
    found: dict[str, dict[str, Any]] = reports(directory, text, "--python", request.param)
    return found


def _in(directory: Path, flags: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(flags).replace('"./', f'"{directory}/'))  # type: ignore[no-any-return]


def _tokens(one: dict[str, Any]) -> int:
    assert one["failure"] is None
    side = one["plan"]["hma_on"]
    assert side["error"] is None
    (group,) = side["groups"]
    return int(side["num_blocks"] * group["block_size"])


def test_a_replica_has_a_plan_of_its_own(reported: dict[str, dict[str, Any]]) -> None:
    plain = _MEMORY // (4 * _TOKEN)
    assert _tokens(reported["plain"]) == plain
    assert _tokens(reported["replicas"]) == plain
    # One of the two heads on each rank.
    assert _tokens(reported["replicas-tp"]) == 2 * plain
    mla = _MEMORY // (61 * 576 * 2)
    assert _tokens(reported["replicas-ep"]) == pytest.approx(mla, abs=64)


def test_the_layers_of_a_draft_join(reported: dict[str, dict[str, Any]]) -> None:
    assert _tokens(reported["ngram"]) == _tokens(reported["plain"])
    for name in ("eagle", "eagle3"):
        assert _tokens(reported[name]) == _MEMORY // (5 * _TOKEN * 16) * 16
    mtp = _MEMORY // (62 * 576 * 2)
    assert _tokens(reported["mtp"]) == pytest.approx(mtp, abs=64)


def test_a_draft_model_is_planned_or_refused(reported: dict[str, dict[str, Any]]) -> None:
    one = reported["draft"]
    if one["plan"] is None:
        (finding,) = [finding for finding in one["findings"] if finding["id"] == "ENG001"]
        assert "draft model is not supported yet" in finding["message"]
    else:
        # Two layers with half of the heads are one more.
        assert _tokens(one) == _MEMORY // (5 * _TOKEN * 16) * 16


def test_less_than_one_request(reported: dict[str, dict[str, Any]]) -> None:
    """Some releases accept it, others refuse; the finding says which."""
    one = reported["too-little"]
    side = one["plan"]["hma_off"]
    assert side["bytes_per_request"] == 6 * _TOKEN * 65536
    found = {finding["id"]: finding for finding in one["findings"]}
    if side["error"] is None:
        assert side["max_concurrency"] == pytest.approx(
            (100 << 20) / (6 * _TOKEN * 65536), abs=0.01
        )
        assert "MEM001" not in found
        assert "accepts that" in found["MEM002"]["message"]
    else:
        assert "MEM002" not in found
        assert "does not start" in found["MEM001"]["message"]
