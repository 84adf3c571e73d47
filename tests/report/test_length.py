"""A finding is to be read at one glance: none is longer than a dozen lines of 100 columns."""

from collections.abc import Iterator
from math import ceil
from pathlib import Path

import pytest
from conftest import ROOT

from hmactl.lint import Pins
from hmactl.lint_files import Request, lint_path
from hmactl.report.finding_text import finding_lines
from hmactl.report.lint_finding import LintFinding
from hmactl.sources.given import Given
from hmactl.sources.selection import Selection

PINS = [Pins(), Pins("0.32.0", "0.5.6"), Pins("0.19.1", "0.4.7")]
_COLUMNS, _LINES = 100, 12


def _findings(directory: Path, pins: Pins) -> Iterator[LintFinding]:
    request = Request(Path.cwd(), Given(), pins, Selection((), ()))
    for result in lint_path(directory, request):
        lines = (result.text or "").split("\n")
        for finding in result.findings:
            number = finding.origin.line or 0
            here = finding.origin.source == result.source and 0 < number <= len(lines)
            yield LintFinding(finding, lines[number - 1] if here else None)


@pytest.mark.parametrize("pins", PINS, ids=lambda pins: f"{pins.vllm}-{pins.lmcache}")
@pytest.mark.parametrize("directory", ["tests/cases", "profiles"])
def test_no_finding_fills_the_screen(
    directory: str, pins: Pins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    count = 0
    for one in _findings(Path(directory), pins):
        count += 1
        lines = list(finding_lines(one.finding, one.source_line))
        height = sum(max(1, ceil(len(line) / _COLUMNS)) for line in lines)
        assert height <= _LINES, "\n".join(lines)
    assert count
