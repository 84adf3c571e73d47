"""docs/field-reports.md says nothing of rules that are not there, and answers every row."""

import re
from pathlib import Path

from hmactl.rules.explain import documented, explain

TEXT = (Path(__file__).parents[2] / "docs" / "field-reports.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| (\S.*?) \| (.*?) \|$", TEXT, flags=re.MULTILINE)


def test_every_rule_that_is_named_exists() -> None:
    """A rule that was renamed or removed is not named any more."""
    named = set(re.findall(r"\b[A-Z]{3}\d{3}\b", TEXT))
    assert named
    assert named <= {identifier for identifier, _ in documented()}


def test_a_report_that_a_rule_cites_names_the_rule() -> None:
    """Where a rule's own text gives a thread of these groups, its row gives the rule."""
    missing = []
    for identifier, _ in documented():
        if identifier[:3] not in {"CON", "ENV", "HMA", "TOP", "VER"}:
            continue
        cited = re.findall(
            r"github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", explain(identifier) or ""
        )
        for repository, number in cited:
            for report, thread, answer in ROWS:
                if thread.startswith(f"{repository}#{number}") and identifier not in answer:
                    missing.append((report, identifier))
    assert not missing


def test_every_row_has_one_number_and_an_answer() -> None:
    """No report is given twice, or without an answer."""
    numbers = [number for number, _, _ in ROWS]
    assert len(numbers) == len(set(numbers)) == len(re.findall(r"^\| \d", TEXT, re.MULTILINE))
    assert all(answer.strip() for _, _, answer in ROWS)
