"""A baseline hides what was there, and nothing that is new."""

from dataclasses import replace
from pathlib import Path

import pytest

from hmactl.baseline import BaselineError, compare, read_baseline, write_baseline
from hmactl.deployment.setting import COMMAND_LINE, Origin
from hmactl.finding import Finding, Severity
from hmactl.report.lint_finding import LintFinding


def _finding(line: int, text: str = "chunk_size: 200", path: str = "a.yaml") -> LintFinding:
    origin = Origin(path, line, 3)
    return LintFinding(
        Finding("LMC004", Severity.WARNING, f"200 is no multiple of {line}", "c", "f", origin), text
    )


def _counting(findings: tuple[LintFinding, ...]) -> list[LintFinding]:
    return [one for one in findings if one.counts]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "baseline.json"


def test_what_was_there_is_suppressed_where_lines_move(file: Path) -> None:
    assert write_baseline(file, [_finding(4), _finding(9, "chunk_size: 300")]) == 2
    moved = [_finding(14), _finding(19, "chunk_size: 300")]
    compared = compare(moved, read_baseline(file))
    assert [one.suppressed for one in compared.findings] == ["in the baseline"] * 2
    assert not any(one.in_source for one in compared.findings)
    assert compared.gone == ()


@pytest.mark.parametrize(
    "new",
    [
        _finding(4, "chunk_size: 100"),
        _finding(4, path="b.yaml"),
        replace(_finding(4), finding=replace(_finding(4).finding, id="LMC005")),
    ],
)
def test_what_is_new_counts(file: Path, new: LintFinding) -> None:
    write_baseline(file, [_finding(4)])
    compared = compare([_finding(4), new], read_baseline(file))
    assert _counting(compared.findings) == [new]


def test_a_second_equal_finding_counts(file: Path) -> None:
    write_baseline(file, [_finding(4)])
    compared = compare([_finding(4), _finding(8)], read_baseline(file))
    assert len(_counting(compared.findings)) == 1


def test_entries_that_are_gone_are_told(file: Path) -> None:
    write_baseline(file, [_finding(4), _finding(8), _finding(9, "x")])
    compared = compare([_finding(2)], read_baseline(file))
    assert len(compared.gone) == 2
    assert {entry.path for entry in compared.gone} == {"a.yaml"}


def test_suppressed_findings_do_not_enter(file: Path) -> None:
    assert write_baseline(file, [replace(_finding(4), suppressed="")]) == 0


def test_paths_count_from_the_baseline(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_baseline(file, [_finding(4, path="deploy/a.yaml")])
    (tmp_path / "deploy").mkdir()
    monkeypatch.chdir(tmp_path / "deploy")
    compared = compare([_finding(4), _finding(4, path="../deploy/a.yaml")][:1], read_baseline(file))
    assert _counting(compared.findings) == []


def test_the_same_findings_give_the_same_bytes(file: Path) -> None:
    found = [_finding(4), _finding(8), _finding(1, path="b.yaml")]
    write_baseline(file, found)
    first = file.read_bytes()
    write_baseline(file, found[::-1])
    assert file.read_bytes() == first
    assert list(file.parent.glob(".*")) == []


def test_no_secret_enters(file: Path) -> None:
    secret = replace(_finding(4), source_line="--api-key=hunter2")
    message = replace(secret.finding, message="--api-key=hunter2", origin=COMMAND_LINE)
    write_baseline(file, [secret, replace(secret, finding=message)])
    assert "hunter2" not in file.read_text()


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{}", '{"schema": "x"}', '{"schema": "hmactl-baseline/1"}', "[" * 10**5],
)
def test_what_is_no_baseline(file: Path, text: str | None) -> None:
    if text is not None:
        file.write_text(text)
    with pytest.raises(BaselineError, match="baseline"):
        read_baseline(file)
