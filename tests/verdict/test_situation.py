"""From the engine's answer to the situation: its words, and an engine that overrules a flag."""

from pathlib import Path
from typing import Any

import pytest

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import COMMAND_LINE, Setting
from hmactl.engine.answer import Answer
from hmactl.engine.decode import decode
from hmactl.facts.facts import Facts
from hmactl.verdict.situation import first_line, verdict_of

GROUP = {"spec": "FullAttentionSpec", "block_size": 16, "page_size_bytes": 1024, "layers": 6}
PLAN = {"error": None, "bytes_per_request": 1 << 20, "groups": [GROUP, GROUP], "tokens": 100}


def _facts(explicit_on: dict[str, Any]) -> Facts:
    answer = decode(
        Answer,
        {
            "error": None,
            "versions": {
                "vllm": "0.12.0",
                "vllm_path": "/site/vllm",
                "lmcache": None,
                "torch": "2",
                "transformers": None,
                "python": "3.12",
                "python_path": "/python",
            },
            "hma": {
                "operator_flag": None,
                "default": {"on": False, "error": None},
                "explicit_on": explicit_on,
                "explicit_off": {"on": False, "error": None},
            },
            "plan": {"hma_on": PLAN, "hma_off": PLAN | {"groups": [GROUP]}},
        },
    )
    deployment = Deployment("p.yaml", "p", Setting("model", "m", COMMAND_LINE))
    return Facts(deployment, answer, None, None, None)


def test_a_flag_that_takes_effect() -> None:
    assert verdict_of(_facts({"on": True, "error": None})).decision == "keep"


def test_a_flag_that_is_overruled_keeps_nothing() -> None:
    verdict = verdict_of(_facts({"on": False, "error": None}))
    assert verdict.decision == "disable"
    assert "vLLM overrules the flag" in verdict.reason


def test_a_flag_that_is_refused_keeps_nothing() -> None:
    verdict = verdict_of(_facts({"on": None, "error": "not supported here"}))
    assert verdict.decision == "disable"
    assert "not supported here" in verdict.reason


@pytest.mark.parametrize(
    ("message", "point"),
    [
        ("Plain words.", "Plain words"),
        (
            "1 validation error for ModelConfig\n  Value error, Too long. [type=value_error, "
            "input_value=1]\n    For further information visit",
            "Too long",
        ),
        (
            "1 validation error for CacheConfig\ngpu_memory_utilization\n  Input should be less "
            "than or equal to 1 [type=less_than_equal]",
            "gpu_memory_utilization: Input should be less than or equal to 1",
        ),
        (
            "Validation error for field 'hidden_size':\n    TypeError: must be int",
            "Validation error for field 'hidden_size': TypeError: must be int",
        ),
        (f"No such thing. Known: {list(range(500))}", "No such thing"),
    ],
)
def test_the_point_of_a_message(message: str, point: str) -> None:
    assert first_line(message) == point


def test_a_long_sentence_is_cut() -> None:
    assert len(first_line("word " * 200)) < 260


def test_paths_of_this_machine_stay_readable() -> None:
    text = f"no file {Path('/a') / 'b'}"
    assert first_line(text) == text
