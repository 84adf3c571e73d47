"""Options with their value in one word, and quotes that nobody removes."""

from typing import Any

import pytest

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Origin
from hmactl.sources.process.arguments import Arguments, read_arguments
from hmactl.sources.process.word import Word

_JSON = '{"kv_connector": "LMCacheConnectorV1"}'


def _read(*texts: str) -> Arguments:
    words = (Word(t, Origin("x", 1, 1), places=places_of_file("x", t)) for t in texts)
    return read_arguments(tuple(words), vllm_flags())


WORDS: dict[tuple[str, ...], tuple[list[tuple[str, Any]], list[str]]] = {
    ("--max-model-len", "8192"): ([("max-model-len", 8192)], []),
    ("--max-model-len 8192",): ([("max-model-len", 8192)], ["CLI008"]),
    ("--max_model_len  8192", "--enforce-eager"): (
        [("max-model-len", 8192), ("enforce-eager", True)],
        ["CLI008"],
    ),
    ("--enforce-eager --max-model-len 8192",): (
        [("enforce-eager", True), ("max-model-len", 8192)],
        ["CLI008", "CLI008"],
    ),
    ("-tp 2",): ([("tensor-parallel-size", 2)], ["CLI008"]),
    (f"--kv-transfer-config {_JSON}",): ([("kv-transfer-config", _JSON)], ["CLI008"]),
    (f"--kv-transfer-config '{_JSON}'",): ([("kv-transfer-config", _JSON)], ["CLI008"]),
    (f"--kv-transfer-config={_JSON}",): ([("kv-transfer-config", _JSON)], []),
    (f"--kv-transfer-config='{_JSON}'",): ([("kv-transfer-config", _JSON)], ["CLI009"]),
    ("--kv-transfer-config", f"'{_JSON}'"): ([("kv-transfer-config", _JSON)], ["CLI009"]),
    ("--served-model-name", '"a"', "b"): ([("served-model-name", ["a", "b"])], ["CLI009"]),
    ("--api-key", "it's"): ([("api-key", ["it's"])], []),
    ("--no-such-option 1",): ([("no-such-option 1", True)], []),
}


@pytest.mark.parametrize("texts", WORDS)
def test_words(texts: tuple[str, ...]) -> None:
    arguments = _read(*texts)
    settings, findings = WORDS[texts]
    assert [(s.name, s.value) for s in arguments.settings] == settings
    assert [f.id for f in arguments.findings] == findings


def test_places() -> None:
    (length,) = _read("--max-model-len 8192").findings
    assert (length.origin.line, length.origin.column) == (1, 1)
    (quotes,) = _read("--port='80'").findings
    assert (quotes.origin.line, quotes.origin.column) == (1, 8)
