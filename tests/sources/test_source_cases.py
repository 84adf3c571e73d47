"""Every file of tests/cases/sources read as its form, held to the reading beside it."""

import os
from pathlib import Path

import pytest

from hmactl.deployment.form import Form
from hmactl.sources.read import read_source
from rendering import render

CASES = Path(__file__).parent.parent / "cases" / "sources"
SOURCES = sorted(p for p in CASES.glob("*/*") if p.suffix != ".expected")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_reading(path: Path) -> None:
    """The folder names the form. HMACTL_WRITE_READINGS=1 writes what is then to be proofread."""
    found = render(read_source(path.name, path.read_text(), Form(path.parent.name)))
    expected = path.with_name(path.name + ".expected")
    if os.environ.get("HMACTL_WRITE_READINGS"):
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_form_is_told_by_content(path: Path) -> None:
    """Without ``--as`` it is read the same, whatever the file is called."""
    text = path.read_text()
    assert render(read_source("x", text)) == render(read_source("x", text, Form(path.parent.name)))
