"""Answers on disk: what changes the key, and what a disk can do."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmactl.engine import answer_cache
from hmactl.engine.answer_cache import AnswerCache, answer_key, cache_directory
from hmactl.engine.find import Distribution, Engine

ENGINE = Engine(
    python=Path("/opt/python"),
    python_version="3.12.1",
    vllm=Distribution("vllm", "0.32.0", Path("/site")),
)
REQUEST: dict[str, Any] = {
    "model": "org/model",
    "flags": [{"name": "max-model-len", "arguments": ["--max-model-len", "8192"]}],
    "extra": [],
    "gpu": {"name": "NVIDIA L4"},
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "config.json").write_text("{}")
    return directory


def _key(
    model: Path,
    *,
    engine: Engine = ENGINE,
    request: Mapping[str, Any] = REQUEST,
    environment: Mapping[str, str] | None = None,
) -> str:
    key = answer_key(engine, request, model, environment or {})
    assert key is not None
    return key


def test_the_same_question_has_the_same_key(model: Path) -> None:
    unrelated = {"TERM": "xterm", "VLLM_CACHE_ROOT": "/tmp/elsewhere"}
    assert _key(model) == _key(model, environment=unrelated)


def test_everything_that_matters_changes_the_key(model: Path) -> None:
    vllm = Distribution("vllm", "0.33.0", Path("/site"))
    keys = {
        _key(model),
        _key(model, engine=replace(ENGINE, vllm=vllm)),
        _key(model, engine=replace(ENGINE, python_version="3.13.0")),
        _key(model, request=REQUEST | {"gpu": None}),
        _key(model, request=REQUEST | {"flags": []}),
        _key(model, environment={"VLLM_USE_V2_MODEL_RUNNER": "1"}),
        _key(model, environment={"LMCACHE_USE_UPSTREAM_MP": "1"}),
    }
    (model / "config.json").write_text('{"num_hidden_layers": 2}')
    assert len(keys | {_key(model)}) == 8


@pytest.mark.parametrize(
    "argument",
    [
        '{"kv_connector": "Mine", "kv_connector_module_path": "mine"}',
        "FILE",
        '{"method": "eagle", "model": "FILE"}',
        "--config=FILE",
    ],
)
def test_files_and_code_by_name_are_never_kept(model: Path, argument: str) -> None:
    argument = argument.replace("FILE", str(model / "config.json"))
    request = REQUEST | {"flags": [{"name": "x", "arguments": ["--x", argument]}]}
    assert answer_key(ENGINE, request, model, {}) is None


def test_put_and_get(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "a" / "b")
    assert cache.get("k") is None
    cache.put("k", {"tokens": 1})
    cache.put("k", {"tokens": 2})
    assert cache.get("k") == {"tokens": 2}
    assert cache.clear() == 1
    assert cache.get("k") is None


def test_a_damaged_answer_is_none(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    (tmp_path / "k.json").write_text('{"tok')
    assert cache.get("k") is None


def test_a_disk_that_refuses_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = AnswerCache(tmp_path / "file" / "below")
    cache.put("k", {})
    assert cache.get("k") is None
    assert cache.clear() == 0


def test_the_longest_unused_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_ANSWERS", 3)
    cache = AnswerCache(tmp_path)
    for number in range(3):
        cache.put(str(number), {})
    assert cache.get("0") is not None  # used again
    cache.put("3", {})
    assert [cache.get(str(n)) is not None for n in range(4)] == [True, False, True, True]


def test_many_writers_never_show_half_an_answer(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    answer = {"text": "x" * 200_000}
    seen: list[object] = []

    def work() -> None:
        for _ in range(20):
            cache.put("k", answer)
            seen.append(cache.get("k"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [answer] * 80
    assert not list(tmp_path.glob(".new-*"))


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/hmactl/answers"),
        ({"HOME": "/h"}, "/h/.cache/hmactl/answers"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/hmactl/answers"),
    ],
)
def test_where(environment: dict[str, str], directory: str) -> None:
    assert str(cache_directory(environment)) == directory
