"""The published JSON Schema says what the reader says."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hmactl.finding import Severity
from hmactl.sources.profile import read_profiles
from hmactl.sources.profile_schema import profile_schema
from hmactl.sources.yaml_nodes import read_documents

_ROOT = Path(__file__).parents[2]
_READY = sorted(_ROOT.glob("profiles/*.yaml"))
_CASES = sorted(_ROOT.glob("tests/cases/profiles/*.yaml"))

# A schema cannot compare two settings, nor know a version, nor a model from an option.
_BEYOND = ("the same option", "the same setting", "both say", "version", "--enforce")


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = profile_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _accepts(validator: Draft202012Validator, document: Any) -> bool:
    return not list(validator.iter_errors(document))


@pytest.mark.parametrize("path", _READY, ids=lambda path: path.stem)
def test_ready_profiles(validator: Draft202012Validator, path: Path) -> None:
    for document in read_documents(path.name, path.read_text("utf-8")):
        assert document.root is not None
        assert _accepts(validator, document.root.value)


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_what_the_reader_accepts_fits_the_schema_and_the_reverse(
    validator: Draft202012Validator, path: Path
) -> None:
    text = path.read_text("utf-8")
    profiles = read_profiles(path.name, text)
    for yaml, profile in zip(read_documents(path.name, text), profiles, strict=False):
        if yaml.root is None or yaml.findings:
            continue  # no value to show to the schema, or not the one that was written
        errors = [f for f in profile.findings if f.severity is Severity.ERROR]
        if _accepts(validator, yaml.root.value):
            assert all(any(word in f.message for word in _BEYOND) for f in errors)
        else:
            assert any(f.origin.line is not None for f in errors)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"model": "a", "modell": "a"},
        {"model": "a", "connector": {"name": "b", "kv_role": "kv_both"}},
        {"model": "a", "connector": {"name": "b", "children": [{"name": "c", "x": 1}]}},
        {"model": "a", "target": {"gpu_count": 1}},
        {"model": "a", "vllm": {"--seed": 1}},
        {"model": "a", "vllm": {"model": "b"}},
        {"model": "a", "vllm": {"no_disable-hybrid-kv-cache-manager": True}},
        {"model": "a", "connector": {"name": "b", "options": {"kv_role": "kv_both"}}},
        {"model": "a", "vllm": {"seed": None}},
        {"model": "a", "lmcache": {"chunk-size": 1}},
        {"model": "a", "lmcache_server": {"--port": 1}},
        {"model": "a", "env": {"A-B": "x"}},
        {"model": "a", "env": {"A": ["x"]}},
        {"model": "a", "target": {"host_memory": "12 gigs"}},
        {"model": "a", "name": None},
    ],
)
def test_strict(validator: Draft202012Validator, document: Any) -> None:
    assert not _accepts(validator, document)


def test_every_key_is_described() -> None:
    schema = profile_schema()
    for part in (schema, *schema["$defs"].values()):
        for name, key in part["properties"].items():
            assert key.get("description"), name


def test_it_names_its_draft_and_itself() -> None:
    schema = profile_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "hmactl profile"
    assert "null" not in repr(schema)
