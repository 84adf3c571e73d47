"""Other releases of vLLM, in the interpreters that HMACTL_TEST_PYTHONS names (colon separated).

``python tools/versions.py --venvs DIR --versions ...`` makes such interpreters.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.models import find_model
from hmactl.engine.answer import Answer, Plan
from hmactl.engine.ask import Question, Session
from hmactl.engine.child import Limits
from hmactl.engine.find import Engine, find_engine

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parent.parent.parent
PYTHONS = [python for python in os.environ.get("HMACTL_TEST_PYTHONS", "").split(":") if python]
RECORDED = ROOT / "docs" / "versions.jsonl"
MODELS = {
    "gemma-3-4b": "google/gemma-3-4b-it",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "qwen3-next-80b": "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
}
# Users' servers printed the figures of 0.22.1, those of 0.32.0 follow from its planner: it counts
# more tokens in flight for a sliding window.
GPT_OSS_120B = {"0.22.1": (25_798_626, 196.83), "0.32.0": (24_367_233, 185.91)}

if not PYTHONS:
    pytest.skip("HMACTL_TEST_PYTHONS names no interpreters", allow_module_level=True)


class _Memory:
    def __init__(self, size: int, ranks: int) -> None:
        self.bytes_per_rank = (size,) * ranks


class Asked:
    """One engine that answers about models."""

    def __init__(self, engine: Engine, session: Session, directory: Path) -> None:
        assert engine.vllm is not None
        self.version = engine.vllm.version
        self._session = session
        self._directory = directory

    def __call__(
        self,
        config: dict[str, Any],
        *flags: tuple[str, str],
        gpu: str = "H100-80GB",
        gpus: int = 1,
        memory: int = 40 << 30,
    ) -> Answer:
        (self._directory / "config.json").write_text(json.dumps(config))
        question = Question(
            model="a/model",
            model_directory=self._directory,
            flags=tuple((name, (f"--{name}={value}",)) for name, value in flags),
            extra=(),
            gpu=find_gpu(gpu),
            gpus=gpus,
            environment=os.environ,
            lmcache_keys=(),
            arguments_only=False,
        )
        answer = self._session.ask(
            question,
            on_stage=lambda _stage: None,
            size_memory=lambda facts: _Memory(memory, len(facts.weights)),
        )
        assert answer.error is None
        assert answer.missing == ()
        return answer


@pytest.fixture(scope="module", params=PYTHONS)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    engine = find_engine(request.param, timeout=120)
    with Session(engine, Limits()) as session:
        yield Asked(engine, session, tmp_path_factory.mktemp("model"))


def _config(model: str) -> dict[str, Any]:
    if model in MODELS:
        facts = find_model(MODELS[model])
        assert facts is not None
        return dict(facts.config)
    own = json.loads((ROOT / "tools" / "versions_models.json").read_text("utf-8"))
    return dict(own[model])


def _connector(name: str) -> tuple[str, str]:
    return "kv-transfer-config", json.dumps({"kv_connector": name, "kv_role": "kv_both"})


def _both(answer: Answer) -> tuple[Plan, Plan]:
    assert answer.plan is not None
    return answer.plan.hma_on, answer.plan.hma_off


def test_recorded_plans(asked: Asked) -> None:
    """What docs/versions.md says of this release is what it answers."""
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    rows = [r for r in rows if r["version"] == asked.version and r["connector"] is None]
    if not rows:
        pytest.skip(f"docs/versions.jsonl has no vLLM {asked.version}")
    for row in rows:
        for name, plan in zip(
            ("hma_on", "hma_off"), _both(asked(_config(row["model"]))), strict=True
        ):
            told = row[name]
            if told.get("error"):
                assert plan.error is not None
                assert plan.error.message == told["error"]
                continue
            figures = {"blocks": plan.num_blocks, "tokens": plan.tokens}
            assert figures == {key: told[key] for key in figures}, (row["model"], name)
            assert plan.max_concurrency == pytest.approx(told["concurrency"], abs=0.0005)
            groups = [[g.layers, g.spec, g.block_size] for g in plan.groups]
            assert groups == told["groups"]


def test_gpt_oss_120b_as_users_saw_it(asked: Asked) -> None:
    facts = _config("gpt-oss-20b") | {"num_hidden_layers": 36, "num_local_experts": 128}
    facts["layer_types"] = ["sliding_attention", "full_attention"] * 18
    # 36 layers, keys and values, 1 head of 64, 2 bytes, 64 tokens. The log does not say how much
    # memory there was: it is what the blocks with HMA off imply, about 117.7976 GiB.
    page = 2 * 64 * 2 * 64
    answer = asked(
        facts,
        ("tensor-parallel-size", "8"),
        ("block-size", "64"),
        gpu="H200",
        gpus=8,
        memory=214_444 * 36 * page,
    )
    on, off = _both(answer)
    # A group with HMA on has half of the layers.
    assert (off.num_blocks, on.num_blocks) == (214_444, 428_888)
    assert off.tokens == 214_444 * 64 == 13_724_416
    assert off.max_concurrency == pytest.approx(104.71, abs=0.005)
    assert on.max_concurrency is not None
    # Older releases print the tokens of one group, whatever the window saves.
    assert on.tokens in (off.tokens, int(on.max_concurrency * 131_072))
    if asked.version in GPT_OSS_120B:
        tokens, concurrency = GPT_OSS_120B[asked.version]
        assert on.tokens == tokens
        assert on.max_concurrency == pytest.approx(concurrency, abs=0.005)


def test_lmcache_in_the_process_switches_hma_off(asked: Asked) -> None:
    answer = asked(_config("gemma-3-4b"), _connector("LMCacheConnectorV1"))
    assert answer.connector is not None
    assert answer.hma is not None
    assert (answer.connector.supports_hma, answer.connector.error) == (False, None)
    assert (answer.hma.default.on, answer.hma.explicit_off.on) == (False, False)
    assert answer.hma.operator_flag is None


def test_mamba_cannot_do_without(asked: Asked) -> None:
    on, off = _both(asked(_config("qwen3-next-80b")))
    assert on.error is None
    assert [g.layers for g in on.groups] == [12, 12, 12, 12]
    assert off.error is not None
    assert "one unified type" in off.error.message
