"""LMCache's settings without an LMCache, where something is not known.

That they are LMCache's where all is known, tests/engine/test_lmcache_parity.py holds.
"""

import math
from typing import Any

import pytest

from hmactl.deployment.deployment import Connector
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.setting import DEFAULT
from hmactl.engine.answer import LMCacheSettings
from hmactl.facts.lmcache_converters import convert, unquoted
from hmactl.facts.lmcache_offline import Written, lmcache_settings
from hmactl.sources.lmcache_file import read_lmcache_file

FILE = {"LMCACHE_CONFIG_FILE": "f"}


def _settings(
    environment: dict[str, str] | None = None, version: str | None = "0.5.6", **more: Any
) -> LMCacheSettings:
    found = lmcache_settings(Written(environment or {}, **more), version)
    assert found is not None
    return found


def _file(text: str | None) -> LMCacheFile:
    return read_lmcache_file("f", DEFAULT, text)


@pytest.mark.parametrize("version", ["0.3.4", "99.0", "dev", "0.6.0"])
def test_nothing_is_known_of_other_versions(version: str) -> None:
    assert lmcache_settings(Written({}), version) is None


def test_a_version_between_two_is_what_both_say() -> None:
    # 0.3.8 was never read: 0.3.7 keeps the quotes of a variable, and 0.3.9 does not.
    quoted = {"LMCACHE_REMOTE_URL": "'lm://c:1'", "LMCACHE_CHUNK_SIZE": "64"}
    values = _settings(quoted, "0.3.8").values
    assert values["chunk_size"] == 64
    assert "remote_url" not in values
    assert _settings(quoted, "0.3.7").values["remote_url"] == "'lm://c:1'"
    assert _settings(quoted, "0.3.9").values["remote_url"] == "lm://c:1"


def test_any_version_is_what_all_say() -> None:
    # lmcache.v1.config of 0.3.5 saves chunks that are not full, that of 0.5.6 does not.
    settings = _settings({"LMCACHE_CHUNK_SIZE": "64"}, None, names=("chunk_sise", "mp_host"))
    assert settings.values["chunk_size"] == 64
    assert "save_unfull_chunk" not in settings.values
    assert settings.defaults["max_local_cpu_size"] == 5.0
    # `mp_host` is a key of some.
    assert settings.unknown == {"chunk_sise": ("chunk_size",)}
    assert settings.refusal is None


@pytest.mark.parametrize(
    ("environment", "version", "refused"),
    [
        ({"LMCACHE_ENABLE_PD": "true"}, "0.5.6", True),
        ({"LMCACHE_ENABLE_PD": "true"}, "0.4.1", False),
        ({"LMCACHE_ENABLE_PD": "true"}, None, False),
    ],
)
def test_a_refusal_of_every_release_it_may_be(
    environment: dict[str, str], version: str | None, refused: bool
) -> None:
    assert (_settings(environment, version).refusal is not None) is refused


def test_what_a_refusal_says() -> None:
    refusal = _settings({"LMCACHE_ENABLE_PD": "true"}).refusal
    assert refusal == "`enable_pd` and `pd_role is None`"


def test_a_value_that_is_not_known() -> None:
    unknown = frozenset({"chunk_size", "pd_role"})
    settings = _settings({"LMCACHE_ENABLE_PD": "true"}, unknown=unknown)
    assert not {"chunk_size", "pd_role"} & settings.values.keys()
    # Whether there is a role is not known, and that there is no buffer is.
    assert settings.refusal == "`enable_pd` and `pd_buffer_size is None`"
    # Whether blending is on is not known, and so not whether LMCache changes the other.
    blending = _settings(
        {"LMCACHE_SAVE_UNFULL_CHUNK": "false"}, unknown=frozenset({"enable_blending"})
    )
    assert "save_unfull_chunk" not in blending.values


def test_a_connectors_key_counts_whatever_was_before() -> None:
    connector = Connector("LMCacheConnectorV1", DEFAULT, extra_config={"lmcache.chunk_size": 64})
    settings = _settings(unknown=frozenset({"chunk_size"}), connector=connector)
    assert settings.values["chunk_size"] == 64
    ignored = _settings(version="0.3.5", connector=connector)
    assert ignored.values["chunk_size"] == 256


def test_where_anything_may_be_set() -> None:
    settings = _settings({"LMCACHE_CHUNK_SIZE": "64"}, others_unknown=True)
    assert settings.values == {"chunk_size": 64}


@pytest.mark.parametrize("file", [None, _file(None), _file("- a list\n")])
def test_a_file_that_is_not_known(file: LMCacheFile | None) -> None:
    environment = FILE | {"LMCACHE_CHUNK_SIZE": "64", "LMCACHE_MAX_LOCAL_CPU_SIZE": "5GB"}
    settings = _settings(environment, file=file)
    # Variables come after it, and one that cannot be read leaves what it says.
    assert settings.values == {"chunk_size": 64}
    assert settings.unreadable == ("LMCACHE_MAX_LOCAL_CPU_SIZE",)
    assert settings.refusal is None
    assert _settings(environment, "0.3.5", file=file).values == {}
    assert _settings(environment, file_unknown=True).values == {"chunk_size": 64}


def test_an_empty_file_is_known() -> None:
    settings = _settings(FILE, file=_file("# nothing yet\n---\n"))
    assert settings.values["chunk_size"] == 256


@pytest.mark.parametrize("text", ["1:30", ".inf", "-.INF", "190:20:30.15"])
def test_numbers_that_only_yaml_1_1_knows_are_left_open(text: str) -> None:
    settings = _settings(FILE, file=_file(f"max_local_cpu_size: {text}\nchunk_size: 64\n"))
    assert "max_local_cpu_size" not in settings.values
    assert settings.values["chunk_size"] == 64


def test_infinity_is_a_word_in_json() -> None:
    assert _settings().values["pd_allocation_timeout_sec"] == "inf"
    assert _settings().defaults["pd_allocation_timeout_sec"] == "inf"


def test_options_of_the_server_where_there_is_one() -> None:
    served = Connector("LMCacheMPConnector", DEFAULT)
    assert "l1-size-gb" in _settings(connector=served).server_options
    assert "l1-size-gb" in _settings(server=True).server_options
    assert "transport" not in _settings(server=True, version="0.5.0").server_options
    assert _settings().server_options == ()


@pytest.mark.parametrize(
    ("algorithm", "lmcache", "vllm", "seed", "differ", "loads"),
    [
        # Python's own hash, in every release.
        ("builtin", None, None, None, True, False),
        ("builtin", "0.3.5", "0.33.0", None, True, False),
        ("builtin", None, None, "0", False, False),
        ("builtin", None, None, "random", True, False),
        # vLLM's first hash has a fixed seed from 0.29.0 on.
        ("sha256_cbor", "0.5.6", "0.28.0", None, True, True),
        ("sha256_cbor", "0.5.6", "0.29.0", None, False, True),
        ("sha256_cbor", "0.5.6", None, None, False, True),
        ("xxhash", "0.5.6", "0.29.0", None, True, True),
        ("xxhash", "0.5.6", "0.12.0", None, True, False),
        ("xxhash", "0.5.6", None, "0", False, None),
        # 0.3.9 asks vLLM for two functions by another way, which is left open.
        ("sha256_cbor", "0.3.9", "0.28.0", None, False, None),
    ],
)
def test_hashes(
    algorithm: str,
    lmcache: str | None,
    vllm: str | None,
    seed: str | None,
    differ: bool,
    loads: bool | None,
) -> None:
    environment = {"LMCACHE_PRE_CACHING_HASH_ALGORITHM": algorithm}
    if seed is not None:
        environment["PYTHONHASHSEED"] = seed
    settings = lmcache_settings(Written(environment), lmcache, vllm)
    assert settings is not None
    assert (settings.hashes_differ, settings.hash_loads) == (differ, loads)


def test_names_of_vllms_own_connectors() -> None:
    names = ("LMCACHE_USE_EXPERIMENTAL", "LMCACHE_USE_UPSTREAM_MP")
    written = Written({}, names=names)
    # lmcache_integration of vLLM 0.12.0 reads the one, lmcache_mp_connector of 0.32.0 the other.
    for vllm, unread in (("0.12.0", names[1]), ("0.32.0", names[0])):
        settings = lmcache_settings(written, "0.5.6", vllm)
        assert settings is not None
        assert set(settings.unknown) == {unread}
    assert _settings(names=names).unknown == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ('"it\'s"', "it's"),
        ("'a", "'a"),
        (" a ", "a"),
        ("'a' 'b'", "ab"),
        ("'a'b'", "a'b"),
        ("''", ""),
        ("", ""),
    ],
)
def test_quotes(text: str, value: str) -> None:
    assert unquoted(text) == value


def test_converters_raise_as_lmcaches_do() -> None:
    for converter, value, words in (
        ("int", "5k", "invalid literal"),
        ("float", "5GB", "could not convert"),
        ("ints", "1,x", "invalid literal"),
        ("mapping", "{a}", "Expecting property name"),
    ):
        with pytest.raises(ValueError, match=words):
            convert(converter, value)
    for converter, wrong in (("texts", 5), ("directory", 5)):
        with pytest.raises((AttributeError, TypeError)):
            convert(converter, wrong)
    assert convert("int", None) is None
    assert math.isinf(convert("float", "inf"))
