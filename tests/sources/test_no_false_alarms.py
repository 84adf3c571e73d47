"""Linting what a reader made of a file finds no error beyond those that are meant."""

from pathlib import Path

import pytest

from hmactl.deployment.form import Form
from hmactl.finding import Severity
from hmactl.lint import Pins, lint_document
from hmactl.sources.read import read_source

CASES = Path(__file__).parent.parent / "cases" / "sources"
FORMS = (Form.COMPOSE, Form.DOCKERFILE, Form.SYSTEMD, Form.LMCACHE, Form.VLLM)
SOURCES = sorted(p for form in FORMS for p in (CASES / form).glob("*") if p.suffix != ".expected")
# What is wrong with a case besides what its reader says, with a known version and without.
MEANT = {
    "lmcache/misspelt.yaml": ({"LMC001", "LMC002"}, {"LMC001"}),
}


@pytest.mark.parametrize("pins", [Pins(), Pins("0.32.0", "0.5.6")], ids=["any", "newest"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_errors(path: Path, pins: Pins) -> None:
    found = set()
    for document in read_source(path.name, path.read_text(), Form(path.parent.name)):
        linted = lint_document(document, pins, lambda _path: None)
        read = {(f.id, f.origin) for f in document.findings}
        found |= {
            f.id
            for f in linted.checked.findings
            if f.severity is Severity.ERROR and (f.id, f.origin) not in read
        }
    known, unknown = MEANT.get(str(path.relative_to(CASES)), (set(), set()))
    assert found == (unknown if pins.lmcache is None else known)
