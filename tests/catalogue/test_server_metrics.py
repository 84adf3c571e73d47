"""What is known of the metrics of vLLM's releases."""

import json
from importlib.resources import files
from typing import Any

import pytest

from hmactl.catalogue.server_metrics import counts, first_that_counts
from hmactl.engine.find import Engine

_DATA: dict[str, Any] = json.loads(
    files("hmactl.catalogue").joinpath("data/server-metrics.json").read_text("utf-8")
)


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("kv_cache_size_tokens", "0.23.0", False),
        ("kv_cache_size_tokens", "0.23.1", None),
        ("kv_cache_size_tokens", "0.24.0+cpu", True),
        ("kv_cache_size_tokens", "99.0", None),
        ("kv_cache_size_tokens", None, None),
        ("kv_cache_size_tokens", "a fork of mine", None),
        ("vllm:prompt_tokens_by_source", "0.15.1", False),
        ("vllm:prompt_tokens_by_source", "0.16.0rc1", None),
        ("vllm:external_prefix_cache_hits", "0.11.1", True),
        ("vllm:external_prefix_cache_hits", "0.11.0", None),
    ],
)
def test_what_a_release_counts(name: str, version: str | None, expected: bool | None) -> None:
    assert counts(name, version) is expected


def test_a_name_that_was_not_looked_for() -> None:
    with pytest.raises(KeyError):
        first_that_counts("vllm:nothing")


def test_the_installed_vllm(engine: Engine) -> None:
    """Its own source says the same."""
    assert engine.vllm is not None
    version, root = engine.vllm.version, engine.vllm.location / "vllm"
    sources = {
        "metrics": (root / "v1/metrics/loggers.py", '"{}"'),
        "labels": (root / "config/cache.py", "\n    {}:"),
    }
    for kind, (path, form) in sources.items():
        text = path.read_text()
        for name in _DATA[kind]:
            known = counts(name, version)
            assert known is None or known is (form.format(name) in text), name
