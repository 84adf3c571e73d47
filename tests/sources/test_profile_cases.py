"""Every profile in tests/cases/profiles has exactly the findings that stand beside it.

``NAME.expected`` has two lines per finding: ``LINE:COLUMN SEVERITY ID MESSAGE`` and the fix. The
name begins with the id that the case is about, and those that end in ``-pass`` have no findings.
"""

from pathlib import Path

import pytest

from hmactl.sources.document import Document
from hmactl.sources.profile import read_profiles

_CASES = sorted((Path(__file__).parents[1] / "cases" / "profiles").glob("*.yaml"))
_IDS = [f"PRO00{number}" for number in range(1, 9)]


def _read(case: Path) -> tuple[Document, ...]:
    return read_profiles(case.name, case.read_text("utf-8"))


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
def test_findings(case: Path) -> None:
    found = ""
    for document in _read(case):
        for finding in document.findings:
            origin = finding.origin
            place = "-" if origin.line is None else f"{origin.line}:{origin.column}"
            found += f"{place} {finding.severity} {finding.id} {finding.message}\n"
            found += f"    fix: {finding.fix}\n"
    assert found == case.with_suffix(".expected").read_text("utf-8")


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
def test_findings_can_be_read_by_people(case: Path) -> None:
    for document in _read(case):
        for finding in document.findings:
            assert finding.origin.source == case.name
            for text in (finding.message, finding.consequence, finding.fix):
                assert text == text.strip()
                assert text[0] == "`" or not text[0].isupper() or text.startswith(("LMC", "YAML"))
                assert len(text) < 200
                assert text.count("`") % 2 == 0 or "cannot begin" in text


@pytest.mark.parametrize("rule", _IDS)
def test_every_id_has_a_failing_and_a_passing_case(rule: str) -> None:
    cases = [case for case in _CASES if case.name.startswith(rule)]
    passing = [case for case in cases if case.stem.endswith("-pass")]
    assert passing
    assert all(not document.findings for case in passing for document in _read(case))
    for case in set(cases) - set(passing):
        assert rule in {finding.id for document in _read(case) for finding in document.findings}


def test_findings_stand_in_the_order_of_the_file() -> None:
    for case in _CASES:
        for document in _read(case):
            places = [(f.origin.line or 0, f.origin.column or 0) for f in document.findings]
            assert places == sorted(places)
