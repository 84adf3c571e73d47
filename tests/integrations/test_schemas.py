"""The JSON Schemas: current as files, and of the same opinion as what reads and writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, Run
from jsonschema import Draft202012Validator

from hmactl.baseline import BaselineError, read_baseline
from hmactl.cli.schema import SCHEMAS
from hmactl.configuration.configuration import KEYS
from hmactl.configuration.problem import ConfigurationError
from hmactl.configuration.read import read_configuration

FILES = ROOT / "schemas"
BAD = "model: google/gemma-3-4b-it\nconnector: LMCacheConnectorV1\nlmcache: {chunk_sise: 256}\n"


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((FILES / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def accepts(name: str, document: Any) -> bool:
    return not list(validator(name).iter_errors(document))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_files_are_what_the_command_prints(hmactl: Run, name: str) -> None:
    printed = json.loads(hmactl("schema", name).stdout)
    written = json.loads((FILES / f"{name}.json").read_text("utf-8"))
    assert printed == written, "run python -m tools.schemas"


def test_there_is_no_other_file() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}.json" for name in SCHEMAS}


CONFIGURATIONS = [
    "{}",
    "select: [LMC, hma013]\nignore: [K8S001]",
    "per-path-ignores: {examples/: [LMC012, C]}",
    "include: ['*.yaml']\nexclude: []",
    'vllm: "0.32.0"\nlmcache: 0.5.6.post1',
    "fail-on: warning\nbaseline: .hmactl-baseline.json",
    "select: LMC",
    "select: [LMC0123]",
    "ignore: ['LMC-012']",
    "ignore: [12]",
    "per-path-ignores: [LMC]",
    "per-path-ignores: {examples/: LMC}",
    "per-path-ignores: {examples/: [LMC 12]}",
    "include: [1]",
    "vllm: 0.32",
    "vllm: newest",
    "fail-on: never",
    "fail-on: Error",
    "baseline: ''",
    "baseline: [a]",
    "fail_on: error",
    "selects: [LMC]",
    "[select]",
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_the_configuration_is_read_as_its_schema_says(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".hmactl.yaml"
    path.write_text(text)
    try:
        read_configuration(path)
        read = True
    except ConfigurationError:
        read = False
    assert accepts("configuration", yaml.safe_load(text)) is read


def test_both_sides_of_the_configuration_are_tried(tmp_path: Path) -> None:
    taken = [text for text in CONFIGURATIONS if accepts("configuration", yaml.safe_load(text))]
    written = {key for text in taken for key in yaml.safe_load(text)}
    assert written == set(KEYS)
    assert len(taken) < len(CONFIGURATIONS) / 2


def test_every_setting_is_described() -> None:
    properties = json.loads((FILES / "configuration.json").read_text("utf-8"))["properties"]
    assert set(properties) == set(KEYS)
    assert all(setting["description"] for setting in properties.values())


def test_what_lint_prints_and_writes(hmactl: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BAD)
    printed = json.loads(hmactl("lint", "--format", "json", tmp_path).stdout)
    assert "chunk_size" in {f["edit"]["new"] for f in printed["findings"] if f["edit"]}
    assert accepts("lint", printed)
    hmactl("lint", "--write-baseline", tmp_path / "b.json", tmp_path)
    baseline = json.loads((tmp_path / "b.json").read_text("utf-8"))
    assert baseline["findings"]
    assert accepts("baseline", baseline)


@pytest.mark.parametrize(
    ("broken", "accepted"),
    [
        ({"line": None, "column": None}, True),
        ({"edit": None}, True),
        ({"more": 1}, True),
        ({"severity": "note"}, False),
        ({"line": 0}, False),
        ({"id": "LMC1"}, False),
        ({"edit": {"line": 1}}, False),
        ({"suppressed": "no"}, False),
    ],
)
def test_findings_that_are_otherwise(broken: dict[str, Any], accepted: bool) -> None:
    texts = dict.fromkeys(("message", "consequence", "fix", "path"), "x")
    place = {"line": 1, "column": 1}
    finding = {"id": "LMC001", "severity": "error", **texts, **place, "suppressed": False}
    finding |= {"edit": {**place, "end_line": 1, "end_column": 2, "new": "", "safe": True}}
    document = {"schema": "hmactl-lint/1", "findings": [finding | broken]}
    assert accepts("lint", document) is accepted
    del finding["message"]
    assert not accepts("lint", {"schema": "hmactl-lint/1", "findings": [finding]})


ENTRY = {"id": "LMC001", "path": "a", "message": "x", "fingerprint": "0"}


@pytest.mark.parametrize(
    "document",
    [
        {"schema": "hmactl-baseline/1", "findings": []},
        {"schema": "hmactl-baseline/1", "findings": [ENTRY]},
        {"schema": "hmactl-baseline/2", "findings": []},
        {"schema": "hmactl-baseline/1"},
        {"schema": "hmactl-baseline/1", "findings": [{"id": "LMC001"}]},
        {"schema": "hmactl-baseline/1", "findings": ["LMC001"]},
        [],
    ],
)
def test_a_baseline_is_read_as_its_schema_says(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps(document))
    try:
        read_baseline(path)
        read = True
    except BaselineError:
        read = False
    assert accepts("baseline", document) is read


def test_what_the_documents_say_of_editors() -> None:
    text = (ROOT / "docs" / "editors.md").read_text("utf-8")
    assert {row.split("`")[1] for row in text.splitlines() if row.startswith("| `")} == set(SCHEMAS)
    (settings,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (copies,) = re.findall(r"```sh\n(mkdir.*?)```", text, re.DOTALL)
    copied = dict(re.findall(r"hmactl schema (\w+) > (\S+)", copies))
    assert set(copied) <= set(SCHEMAS)
    assert set(json.loads(settings)["yaml.schemas"]) == set(copied.values())
    (named,) = re.findall(r"yaml-language-server: \$schema=\.\./(\S+)", text)
    assert named == copied["profile"]
