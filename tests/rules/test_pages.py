"""The pages about rules, and the list of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import hmactl
from hmactl.cli import main
from hmactl.rules.explain import documented, explain
from hmactl.rules.pages import Explained, all_explained, explained, index, page, pages

ROOT = Path(hmactl.__file__).parent.parent
DIRECTORY = ROOT / "docs" / "rules"


def _tool(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.rule_pages", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_pages_are_current() -> None:
    there = {path.name: path.read_text("utf-8") for path in DIRECTORY.glob("*.md")}
    assert there == pages(), "run python -m tools.rule_pages"


def test_the_tool_writes_what_is_not_current(tmp_path: Path) -> None:
    assert _tool("--directory", tmp_path).returncode == 0
    assert _tool("--check", "--directory", tmp_path).returncode == 0
    (tmp_path / "LMC001.md").write_text("old")
    (tmp_path / "XYZ001.md").write_text("of no rule")
    (tmp_path / "LMC002.md").unlink()
    done = _tool("--check", "--directory", tmp_path)
    assert done.returncode == 1
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["LMC001.md", "LMC002.md", "XYZ001.md"]
    _tool("--directory", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(pages())


def test_the_parts_of_a_rule() -> None:
    rule = explained("lmc001")
    assert rule is not None
    assert (rule.id, rule.severity, rule.title) == (
        "LMC001",
        "error",
        "LMCache does not know a key",
    )
    assert rule.what.startswith("the installed LMCache has no such setting")
    assert explained("XYZ999") is None


@pytest.mark.parametrize("rule", all_explained(), ids=lambda rule: rule.id)
def test_a_page_has_every_word_of_the_explanation(rule: Explained) -> None:
    identifier = rule.id
    text = (DIRECTORY / f"{identifier}.md").read_text("utf-8")
    whole = explain(identifier)
    assert whole is not None
    for word in set(whole.replace(":", " ").split()) - {f"({rule.severity})"}:
        assert word.rstrip(".") in text
    for heading in ("What", "Why", "Failing example", "Passing example", "Since"):
        assert f"\n## {heading}\n" in text


def test_the_index_links_every_page() -> None:
    text = index(all_explained())
    for identifier, _title in documented():
        assert f"[{identifier}]({identifier}.md)" in text


def test_indented_examples_stay_indented() -> None:
    rule = explained("K8S021")
    assert rule is not None
    assert "\n    " in page(rule)


def test_rules_command() -> None:
    lines = CliRunner().invoke(main, ["rules"]).output.splitlines()
    assert "LMC001  error    LMCache does not know a key" in lines
    assert len(lines) == len(list(documented()))
    answer = json.loads(CliRunner().invoke(main, ["rules", "--format", "json"]).output)
    assert answer["schema"] == "hmactl-rules/1"
    assert [rule["id"] for rule in answer["rules"]] == [
        identifier for identifier, _ in documented()
    ]
