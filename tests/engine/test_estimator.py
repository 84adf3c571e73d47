"""The estimator against the installed vLLM: one model of each architecture in the catalogue.

`tools/estimator.py` does the same for any folder of configs, layouts and GPUs, and
`tests/catalogue/test_estimate.py` compares with what it recorded.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hmactl.catalogue.estimate import Question, estimate
from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.models import find_model, known_models
from hmactl.engine.ask import Session
from hmactl.engine.child import Limits
from hmactl.engine.find import Engine

pytestmark = pytest.mark.engine

GPU = "H100-80GB"
SIZES = ("1", "2", "4", "8")


def _tool() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "estimator.py"
    spec = importlib.util.spec_from_file_location("estimator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _one_of_each_architecture(vllm: str) -> dict[str, dict[str, Any]]:
    """By hub id: configs that the estimator answers for."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for model in known_models():
        facts = find_model(model)
        assert facts is not None
        question = Question(config=facts.config, vllm=vllm, gpu=find_gpu(GPU))
        if estimate(question).unknown is None:
            found.setdefault(facts.config["architectures"][0], (model, facts.config))
    return dict(found.values())


def test_every_answer_is_the_engines(engine: Engine) -> None:
    tool = _tool()
    assert engine.vllm is not None
    models = _one_of_each_architecture(engine.vllm.version)
    assert len(models) > 30
    outcomes = {}
    with Session(engine, Limits(seconds=120)) as session:
        for number, (model, config) in enumerate(models.items()):
            settings = {"tensor-parallel-size": SIZES[number % len(SIZES)]}
            row = {"model": model, "vllm": engine.vllm.version, "gpu": GPU, "settings": settings}
            row |= tool.ask(session, config, GPU, settings)
            outcomes[model], detail = tool.compare(row, config)
            assert outcomes[model] != "different", f"{model} {settings}: {detail}"
    assert list(outcomes.values()).count("equal") > 0.8 * len(outcomes)
