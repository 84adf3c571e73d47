"""Every finding that the code can make is explained."""

import re
from pathlib import Path

import pytest

import hmactl
from hmactl.rules.explain import documented, explain

ROOT = Path(hmactl.__file__).parent
IDS = [identifier for identifier, _title in documented()]


def test_every_id_in_the_code_is_documented() -> None:
    found = {
        identifier
        for path in ROOT.rglob("*.py")
        for identifier in re.findall(r'"([A-Z][A-Z0-9]{2}\d{3})"', path.read_text("utf-8"))
    }
    assert found == set(IDS)


def test_no_id_is_used_twice() -> None:
    assert len(IDS) == len(set(IDS))


@pytest.mark.parametrize("identifier", IDS)
def test_each_text_has_its_parts(identifier: str) -> None:
    text = explain(identifier)
    assert text is not None
    for part in ("What:", "Why:", "Failing example:", "Passing example:", "Since:"):
        assert f"\n{part}" in text


def test_an_unknown_id() -> None:
    assert explain("XYZ999") is None


def test_case_does_not_matter() -> None:
    assert explain("hma001") == explain("HMA001")
