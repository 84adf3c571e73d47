"""What is left out because it cannot concern a deployment would have found nothing there."""

import re
from pathlib import Path

import pytest

import hmactl.rules
from hmactl.lint import Pins, lint_document
from hmactl.rules.case import Case
from hmactl.rules.catalogue import GROUPS, all_rules, all_rules_together, rules_for, rules_together
from hmactl.rules.explain import documented
from hmactl.sources.given import Given
from hmactl.sources.read import read_source
from hmactl.sources.supplied import beside

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for pattern in ("profiles/*.yaml", "tests/cases/profiles/*.yaml", "tests/cases/sources/*/*")
    for path in ROOT.glob(pattern)
    if path.is_file() and path.suffix not in {".expected", ".env"}
)
TEXTS = {
    "kept": "model: google/gemma-3-4b-it\nconnector: LMCacheConnectorV1\nhma: keep\n",
    "disk without a size": "model: m/m\nconnector: LMCacheConnectorV1\n"
    "lmcache: {local_disk: /cache, max_local_disk_size: 0}\n",
    "server larger than its host": "model: m/m\nconnector: LMCacheMPConnector\n"
    "lmcache_server: {start: true, l1-size-gb: 60, eviction-policy: LRU}\n"
    "target: {host_memory: 16 GiB}\n",
}
PINS = (Pins(), Pins("0.32.0", "0.5.6"), Pins("0.15.0", "0.4.7"))


def _of_file(path: Path, pins: Pins) -> list[Case]:
    given = beside(Given(), path.parent, path.parent)
    return _cases(path.name, path.read_text("utf-8"), pins, given)


def _cases(name: str, text: str, pins: Pins, given: Given | None = None) -> list[Case]:
    given = given or Given()
    documents = read_source(name, text, None, given)
    linted = [lint_document(document, pins, given.read_file).checked for document in documents]
    return [Case(one.facts, one.verdict) for one in linted if one.facts is not None]


def _left_out(cases: list[Case]) -> set[str]:
    """The rules that would have found something, and were not asked."""
    found: set[str] = set()
    for case in cases:
        finding = {rule.ID for rule in all_rules() if any(True for _ in rule.check(case))}
        found |= finding - {rule.ID for rule in rules_for(case)}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rules_that_are_left_out_find_nothing(path: Path) -> None:
    assert not _left_out([case for pins in PINS for case in _of_file(path, pins)])


@pytest.mark.parametrize("name", TEXTS)
def test_groups_that_few_files_need(name: str) -> None:
    cases = [case for pins in PINS for case in _cases(name, TEXTS[name], pins)]
    assert not _left_out(cases)


def test_each_group_concerns_some_deployments_and_not_others() -> None:
    """But for the first, and for what only an engine says."""
    pins = Pins("0.32.0", "0.5.6")
    cases = [case for path in SOURCES for case in _of_file(path, pins)]
    cases += [case for name, text in TEXTS.items() for case in _cases(name, text, pins)]
    for group in GROUPS:
        concerned = [group.concerns(case) for case in cases]
        assert (any(concerned), all(concerned)) == {
            "always": (True, True),
            "engine": (False, False),
        }.get(group.name, (True, False)), group.name


def test_every_rule_module_is_in_one_group_or_found_elsewhere() -> None:
    directory = Path(hmactl.rules.__path__[0])
    modules = [
        p.name[:6].upper() for p in directory.glob("*/*.py") if re.match(r"[a-z]\w\w\d", p.name)
    ]
    grouped = [rule.ID for rule in all_rules()] + [rule.ID for rule in all_rules_together()]
    assert len(grouped) == len(set(grouped))
    assert sorted(modules) == [identifier for identifier, _title in documented()]


def test_rules_are_known_to_be_for_several_deployments() -> None:
    case = _cases("kept", TEXTS["kept"], Pins())[0]
    assert rules_together([case]) == ()
    assert rules_together([case, case]) == all_rules_together()
