"""``hmactl check -- COMMAND``: what is said before an engine is asked."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hmactl.cli import main
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import Area
from hmactl.sources.command import read_command


@pytest.mark.parametrize("arguments", [["check"], ["check", "--"], ["check", "--", "ls", "-l"]])
def test_nothing_that_starts_a_server_is_wrong_usage(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Error:" in result.output


def test_wrappers_variables_and_flags(tmp_path: Path) -> None:
    words = "A=1 nice -n 5 env B=x=y vllm serve m -tp 2 --disable-hybrid-kv-cache-manager"
    document = read_command(words.split(), tmp_path)
    assert document is not None
    assert document.deployment is not None
    deployment = document.deployment
    assert deployment.model.value == "m"
    assert [(s.name, s.value) for s in deployment.vllm] == [("tensor-parallel-size", 2)]
    assert [(s.name, s.value) for s in deployment.env] == [("A", "1"), ("B", "x=y")]
    assert deployment.hma is HmaPolicy.DISABLE


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("python3 -m vllm.entrypoints.openai.api_server --model m --port 1", "m"),
        ("vllm serve --model m", "m"),
        ("/opt/venv/bin/vllm serve --enforce-eager m", "m"),
        ("vllm serve other --model m", "m"),
    ],
)
def test_the_model(words: str, model: str, tmp_path: Path) -> None:
    document = read_command(words.split(), tmp_path)
    assert document is not None
    assert document.deployment is not None
    assert document.deployment.model.value == model


def test_a_configuration_file_comes_before_the_command(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "model: m\nmax_model_len: 10\nenforce-eager: true\nkv-transfer-config: {kv_connector: X}\n"
    )
    words = ["vllm", "serve", "--config", "c.yaml", "--max-model-len", "20"]
    document = read_command(words, tmp_path)
    assert document is not None
    assert document.deployment is not None
    deployment = document.deployment
    assert deployment.model.value == "m"
    assert deployment.model.origin.line == 1
    assert [(s.name, s.value, s.origin.line) for s in deployment.vllm] == [
        ("max-model-len", 10, 2),
        ("enforce-eager", True, 3),
        ("kv-transfer-config", {"kv_connector": "X"}, 4),
        ("max-model-len", 20, None),
    ]


def test_a_configuration_file_that_is_not_there_may_set_anything(tmp_path: Path) -> None:
    document = read_command(["vllm", "serve", "m", "--config", "c.yaml"], tmp_path)
    assert document is not None
    assert document.deployment is not None
    assert document.deployment.is_unknown(Area.VLLM, "max-model-len")
    assert not document.deployment.is_unknown(Area.ENV, "PYTHONHASHSEED")


def test_surplus_words(tmp_path: Path) -> None:
    document = read_command(["vllm", "serve", "m", "8192", "--enforce-eager"], tmp_path)
    assert document is not None
    assert [f.id for f in document.findings] == ["CLI006"]
