"""Every file of tests/cases/sources read as its form, held to the reading beside it."""

import os
from pathlib import Path

import pytest
from rendering import render

from hmactl.deployment.form import Form
from hmactl.sources.given import Given
from hmactl.sources.read import read_source
from hmactl.sources.supplied import beside

CASES = Path(__file__).parent.parent / "cases" / "sources"
SOURCES = sorted(
    p for p in CASES.glob("*/*") if p.is_file() and p.suffix not in {".expected", ".env"}
)


def _read(path: Path, form: Form | None) -> str:
    given = beside(Given(), path.parent, path.parent)
    return render(read_source(path.name, path.read_text("utf-8"), form, given))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_reading(path: Path) -> None:
    """The folder names the form. HMACTL_WRITE_READINGS=1 writes what is then to be proofread."""
    found = _read(path, Form(path.parent.name))
    expected = path.with_name(path.name + ".expected")
    if os.environ.get("HMACTL_WRITE_READINGS"):
        expected.write_text(found, "utf-8")
    assert found == expected.read_text("utf-8")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_form_is_told_by_content(path: Path) -> None:
    """Without ``--as`` it is read the same."""
    assert _read(path, None) == _read(path, Form(path.parent.name))
