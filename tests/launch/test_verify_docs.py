"""The commands of docs/verify.md are ones that hmactl takes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hmactl.cli.verify import command

_PAGE = Path(__file__).parents[2] / "docs" / "verify.md"


def _commands() -> list[list[str]]:
    """The arguments of `hmactl verify` in the page's indented blocks."""
    blocks = _PAGE.read_text().split("\n\n")
    found: list[list[str]] = []
    for block in blocks:
        if block.startswith("    "):
            _collect(yaml.safe_load(block), found)
    return found


def _collect(value: Any, found: list[list[str]]) -> None:
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name == "command":
            assert inner[:2] == ["hmactl", "verify"]
            found.append(inner[2:])
        _collect(inner, found)


def test_the_page_has_both() -> None:
    assert len(_commands()) == 2


@pytest.mark.parametrize("arguments", _commands())
def test_its_commands_are_taken(arguments: list[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("{}")
    given = [str(report) if word == "/etc/hmactl/report.json" else word for word in arguments]
    context = command.make_context("verify", given)
    assert context.params["plan"] == report
    assert context.params["target"].startswith("http://")
    assert context.params["once"] is not context.params["probe"]
