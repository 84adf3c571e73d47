"""LMCache's and vLLM's own YAML by themselves, however they are written: every setting with its
value, at its place; and any text is read without an exception."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area, Setting
from hmactl.facts.transfer import transfer_connector
from hmactl.lint import Pins
from hmactl.lint_files import lint_text
from hmactl.sources.form import form_of
from hmactl.sources.given import Given
from hmactl.sources.lmcache_file import carried_settings
from hmactl.sources.read import read_source

Read = Callable[[str], tuple[Deployment, tuple[Setting, ...]]]


def _lmcache(text: str) -> tuple[Deployment, tuple[Setting, ...]]:
    (document,) = read_source("f", text, Form.LMCACHE)
    assert document.deployment is not None
    (found,) = carried_settings([document.deployment]).values()
    return document.deployment, found


def _vllm(text: str) -> tuple[Deployment, tuple[Setting, ...]]:
    (document,) = read_source("f", text, Form.VLLM)
    assert document.deployment is not None
    return document.deployment, document.deployment.vllm


_LMCACHE = ["chunk_size", "local_cpu", "max_local_cpu_size", "remote_url", "extra_config", "ours"]
_VLLM = ["max-model-len", "max_num_seqs", "enforce-eager", "served-model-name", "gpu_memory_ours"]
_VALUES = st.one_of(
    st.booleans(),
    st.integers(0, 10**6),
    st.floats(0, 100, allow_nan=False).map(lambda number: round(number, 3)),
    st.sampled_from(["lm://a:65432", "é", "", "true", "8000", "a: b", "# no comment", "[x"]),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b.c"]), st.integers(0, 9), min_size=1),
)
_BLANKS = st.sampled_from(["", "\n", "# chunk_size: 1\n", "   # é: 2\n", "---\n"])


@st.composite
def _files(draw: st.DrawFn, names: list[str]) -> tuple[str, dict[str, Any]]:
    """A YAML mapping with comments, quotes and line ends of either kind, and what it holds."""
    keys = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    content = {key: draw(_VALUES) for key in keys}
    text = draw(_BLANKS)
    for key, value in content.items():
        quote = draw(st.sampled_from(["", '"', "'"]))
        comment = draw(st.sampled_from(["", "  # ours: 1"]))
        text += f"{quote}{key}{quote}: {json.dumps(value, ensure_ascii=False)}{comment}\n"
        text += draw(_BLANKS.filter(lambda blank: "---" not in blank))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), content


def _at(text: str, setting: Setting) -> str:
    line, column = setting.origin.line, setting.origin.column
    assert line is not None
    assert column is not None
    return text.split("\n")[line - 1][column - 1 :].lstrip("\"'")


@settings(max_examples=150, deadline=None)
@given(_files(_LMCACHE))
def test_lmcache(file: tuple[str, dict[str, Any]]) -> None:
    text, content = file
    assert yaml.safe_load(text) == content
    deployment, found = _lmcache(text)
    assert {setting.name: setting.value for setting in found} == content
    assert all(_at(text, setting).startswith(setting.name) for setting in found)
    # The rest of the deployment is not in the file.
    assert deployment.model.value is None
    assert deployment.is_unknown(Area.VLLM, "max-model-len")
    assert deployment.is_unknown(Area.ENV, "PYTHONHASHSEED")


@settings(max_examples=150, deadline=None)
@given(_files(_VLLM), st.sampled_from([None, "a/b"]))
def test_vllm(file: tuple[str, dict[str, Any]], model: str | None) -> None:
    text, content = file
    if model is not None:
        end = "\r\n" if "\r\n" in text else "\n"
        text = f"{text}model: {model}{end}"
    deployment, found = _vllm(text)
    assert deployment.model.value == model
    assert {s.name: s.value for s in found} == {k.replace("_", "-"): v for k, v in content.items()}
    written = {key.replace("_", "-"): key for key in content}
    assert all(_at(text, setting).startswith(written[setting.name]) for setting in found)
    assert deployment.is_unknown(Area.ENV, "LMCACHE_CONFIG_FILE")


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["lmcache.mp.host", "x", "é"]), st.integers(0, 9), min_size=1),
    st.booleans(),
)
def test_a_connector_in_vllms_file(extra: dict[str, int], as_text: bool) -> None:
    config = {"kv_connector": "C", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    written = json.dumps(config, ensure_ascii=False)
    block = f"'{written}'" if as_text else written
    text = f"model: a/b\nmax-model-len: 8\nkv-transfer-config: {block}\n"
    connector = transfer_connector(_vllm(text)[0])
    assert connector is not None
    assert (connector.name, connector.role, connector.extra_config) == ("C", "kv_both", extra)
    for key in extra:
        place = connector.place_of(key)
        assert place is not None
        assert place.line == 3
        assert place.column is not None
        assert text.split("\n")[2][place.column - 1 :].lstrip('"').startswith(key)


@pytest.mark.parametrize("form", [Form.LMCACHE, Form.VLLM])
@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=60),
        st.text(alphabet="a:-{}[]&*#!|>'\"\\ \n\t%@,?0", max_size=60),
        _files(_LMCACHE).map(lambda file: file[0][: len(file[0]) // 2]),
    )
)
def test_any_text_is_read(form: Form, text: str) -> None:
    for document in read_source("f", text, form):
        assert document.deployment is not None or document.findings
    result = lint_text("f", text, Pins("0.32.0", "0.5.6"), Given(), form, named=True)
    lines = text.count("\n") + text.count("\r") + text.count("\x85") + 2
    assert all((finding.origin.line or 1) <= lines for finding in result.findings)


@settings(max_examples=100, deadline=None)
@given(_files(_LMCACHE[:5]))
def test_the_form_is_told_by_the_keys(file: tuple[str, dict[str, Any]]) -> None:
    assert form_of(file[0]) is Form.LMCACHE


@pytest.mark.parametrize("read", [_lmcache, _vllm])
def test_the_last_of_a_key_counts_as_for_the_program(read: Read) -> None:
    deployment, found = read("max-model-len: 1\nchunk_size: 2\nchunk_size: 3\n")
    assert [setting.value for setting in found if setting.name.startswith("chunk")][-1:] == [3]
    assert deployment.form in {Form.LMCACHE, Form.VLLM}
