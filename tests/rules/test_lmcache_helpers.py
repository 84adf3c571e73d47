"""What the rules about LMCache compute, without an engine."""

from pathlib import Path
from typing import Any

import pytest
from installed import VERSIONS

from hmactl.engine.answer import Answer, LayerKind
from hmactl.engine.dryboot import lmcache_settings, lmcache_source
from hmactl.facts.lmcache import option_number
from hmactl.facts.lmcache_memory import layers_bytes_per_token
from hmactl.rules.lmc.lmc008_read_as_false import says_no
from hmactl.rules.lms.lms003_unknown_option import takes


def _answer(*stages: tuple[tuple[str, int, int, int], ...]) -> Answer:
    layers = tuple(
        tuple(
            LayerKind(spec=s, count=n, block_size=b, page_size_bytes=p, first_layer="")
            for s, n, b, p in stage
        )
        for stage in stages
    )
    return Answer(error=None, versions=VERSIONS, layers=layers)


def test_bytes_of_a_token_over_all_layers() -> None:
    # Gemma 3 4B: 34 layers x 2 x 4 heads x 256 x 2 bytes
    gemma = (("SlidingWindowSpec", 29, 16, 65_536), ("FullAttentionSpec", 5, 16, 65_536))
    assert layers_bytes_per_token(_answer(gemma)) == 34 * 2 * 4 * 256 * 2


def test_the_stage_with_most_layers_decides() -> None:
    first, second = (("FullAttentionSpec", 3, 16, 1_600),), (("FullAttentionSpec", 4, 16, 1_600),)
    assert layers_bytes_per_token(_answer(first, second)) == 400


def test_a_state_is_no_token() -> None:
    assert layers_bytes_per_token(_answer((("MambaSpec", 3, 16, 1_600),))) is None
    assert layers_bytes_per_token(_answer()) is None


@pytest.mark.parametrize("value", ["no", "OFF", " false ", "'0'", "", None])
def test_meant_as_false(value: object) -> None:
    assert says_no(value)


@pytest.mark.parametrize("value", ["yes", "on", "2", "enabled", 2])
def test_not_meant_as_false(value: object) -> None:
    assert not says_no(value)


@pytest.mark.parametrize("name", ["l1-size-gb", "l1-size", "no-l1-use-lazy", "l1-use-lazy"])
def test_argparse_takes(name: str) -> None:
    assert takes(["l1-size-gb", "l1-use-lazy"], name)


def test_argparse_does_not_take() -> None:
    assert not takes(["l1-size-gb"], "l1-size-gbs")


def test_numbers_of_options() -> None:
    assert [option_number(value) for value in (60, "60.5", "many", True, None)] == [
        60.0,
        60.5,
        None,
        None,
        None,
    ]


@pytest.fixture
def _source(monkeypatch: pytest.MonkeyPatch) -> Any:
    text = (
        'os.getenv("LMCACHE_LOG_LEVEL")\nprefix = "LMCACHE_CONTROLLER_"\n'
        'get("lmcache.mp.host")\nkey = f"lmcache.mp.lazy_offload_{name}"\n'
    )
    adapter = "class ExtraConfigDefault(enum.Enum):\n    mq_timeout = 300.0\n\nx = 1\n"
    options = 'group.add_argument(\n    "--l1-size-gb",\n)\np.add_argument("--port", type=int)\n'
    sources = (
        (Path("a.py"), text),
        (Path("vllm_multi_process_adapter.py"), adapter),
        (Path("config.py"), options),
    )
    monkeypatch.setattr(lmcache_source, "sources", lambda: sources)
    lmcache_source.source_names.cache_clear()
    yield
    lmcache_source.source_names.cache_clear()


@pytest.mark.usefixtures("_source")
def test_variables_that_nothing_reads() -> None:
    names = [
        "LMCACHE_CHUNK_SIZE",
        "LMCACHE_LOG_LEVEL",
        "LMCACHE_EC_CHUNK_SIZE",
        "LMCACHE_CONTROLLER_PORT",
        "LMCACHE_CHUNKSIZE",
        "LM_CACHE_CHUNK_SIZE",
        "LMCACHE_LMCACHE_LOG_LEVEL",
        "LMCACHE_QUITE_ANOTHER_THING",
    ]
    assert lmcache_source.unread_variables(names, ["chunk_size"]) == {
        "LMCACHE_CHUNKSIZE": ["LMCACHE_CHUNK_SIZE"],
        "LM_CACHE_CHUNK_SIZE": ["LMCACHE_CHUNK_SIZE"],
        "LMCACHE_LMCACHE_LOG_LEVEL": ["LMCACHE_LOG_LEVEL"],
        "LMCACHE_QUITE_ANOTHER_THING": [],
    }


@pytest.mark.usefixtures("_source")
def test_keys_of_the_server_that_nothing_reads() -> None:
    keys = ("host", "mq_timeout", "lazy_offload_anything", "hots")
    extra = {f"lmcache.mp.{key}": 1 for key in keys} | {"other": 1}
    assert lmcache_source.unread_server_keys(extra, []) == {"lmcache.mp.hots": ["lmcache.mp.host"]}


@pytest.mark.usefixtures("_source")
def test_options_of_the_server() -> None:
    assert lmcache_source.server_options() == {"l1-size-gb", "port"}


@pytest.mark.parametrize("arguments", [["{}"], ["--kv-transfer-config={}"]])
def test_connectors_in_the_flags(arguments: list[str]) -> None:
    config = (
        '{"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": '
        '[{"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": {"lmcache.a": 1}}]}}'
    )
    flag = {"name": "kv-transfer-config", "arguments": [a.replace("{}", config) for a in arguments]}
    found = dict(lmcache_settings._connectors([flag]))
    assert found["LMCacheConnectorV1"] == {"lmcache.a": 1}
    assert "MultiConnector" in found
